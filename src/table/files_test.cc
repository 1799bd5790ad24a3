// SPDX-License-Identifier: Apache-2.0
// Data files, through the module as the program loads it.
#include "table/files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/endian.h"
#include "objstore/testing/temp_folder.h"
#include "table/testing/memory_file.h"

namespace lakestream::table {
namespace {

using Text = std::optional<std::string>;

/// A row that owns what it says.
struct OwnedRow {
    std::int32_t partition = 0;
    std::int64_t offset = 0;
    std::int64_t timestamp_ms = 0;
    Text key;
    Text value;
    std::vector<std::pair<std::string, Text>> headers;

    friend bool operator==(const OwnedRow&, const OwnedRow&) = default;
};

std::ostream& operator<<(std::ostream& out, const OwnedRow& row) {
    return out << row.partition << "/" << row.offset << " at " << row.timestamp_ms << ", key "
               << row.key.value_or("null") << ", " << row.headers.size() << " headers";
}

std::optional<std::span<const std::byte>> bytes_of(const Text& text) {
    if (!text.has_value()) {
        return std::nullopt;
    }
    return std::as_bytes(std::span(*text));
}

Text text_of(const std::optional<std::span<const std::byte>>& bytes) {
    if (!bytes.has_value()) {
        return std::nullopt;
    }
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

Status add(DataFileWriter& writer, const OwnedRow& row) {
    std::vector<RowHeader> headers;
    for (const auto& [key, value] : row.headers) {
        headers.push_back({.key = key, .value = bytes_of(value)});
    }
    return writer.add(
        {.partition = row.partition,
         .offset = row.offset,
         .timestamp_ms = row.timestamp_ms,
         .key = bytes_of(row.key),
         .value = bytes_of(row.value),
         .headers = headers}
    );
}

OwnedRow own(const Row& row) {
    OwnedRow owned{
        .partition = row.partition,
        .offset = row.offset,
        .timestamp_ms = row.timestamp_ms,
        .key = text_of(row.key),
        .value = text_of(row.value)
    };
    for (const RowHeader& header : row.headers) {
        owned.headers.emplace_back(header.key, text_of(header.value));
    }
    return owned;
}

TableFiles& files() {
    static const auto loaded = load_table_files().value();
    return *loaded;
}

class DataFiles : public testing::Test {
  protected:
    Result<DataFile> write(const std::vector<OwnedRow>& rows) {
        auto writer = LKS_TRY(files().write_data_file(folder_.path() + "/data.parquet", 1));
        for (const OwnedRow& row : rows) {
            LKS_TRY(add(*writer, row));
        }
        return writer->finish();
    }

    static Result<std::vector<OwnedRow>> read(Bytes content) {
        auto reader = LKS_TRY(files().read_data_file(MemoryFile::of(std::move(content))));
        std::vector<OwnedRow> rows;
        while (const auto row = LKS_TRY(reader->next())) {
            rows.push_back(own(*row));
        }
        return rows;
    }

    objstore::TempFolder folder_;
};

TEST_F(DataFiles, NullEmptyAndZeroAreDifferentThings) {
    const std::string zeros(3, '\0');
    const std::vector<OwnedRow> rows = {
        {.partition = 0, .offset = 0, .timestamp_ms = 0, .key = {}, .value = {}},
        {.partition = 0, .offset = 1, .timestamp_ms = -1, .key = "", .value = ""},
        {.partition = 0, .offset = 7, .timestamp_ms = 1, .key = zeros, .value = zeros},
        {.partition = 3, .offset = 0, .headers = {{"", {}}, {"", ""}, {"a", zeros}, {"a", {}}}},
        {.partition = 3, .offset = 1, .value = "last", .headers = {{"b", "c"}}},
        {.partition = 3, .offset = 2},
    };
    const auto file = write(rows);
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    EXPECT_EQ(file->rows, 6);
    EXPECT_EQ(file->size_bytes, static_cast<std::int64_t>(read_local(file->path).size()));
    EXPECT_EQ(read(read_local(file->path)).value(), rows);
}

TEST_F(DataFiles, ManyRowsOfAllSizesOverPagesAndBatches) {
    std::vector<OwnedRow> rows;
    for (int i = 0; i < 30'000; ++i) {
        OwnedRow row{.partition = i / 9000, .offset = i, .timestamp_ms = 1782961445000 + i / 10};
        if (i % 3 != 0) {
            row.key = fmt::format("key-{}", i % 1000);
        }
        if (i % 7 != 0) {
            row.value = std::string(static_cast<std::size_t>(i * 37 % 180), static_cast<char>(i));
        }
        if (i % 5000 == 4999) {  // larger than a batch, and than a page
            row.value = std::string(static_cast<std::size_t>(i) * 60, static_cast<char>(i));
        }
        for (int h = 0; h < i % 4; ++h) {
            row.headers.emplace_back(fmt::format("h{}", h), fmt::format("value {}", i));
        }
        rows.push_back(std::move(row));
    }
    const auto file = write(rows);
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    EXPECT_EQ(read(read_local(file->path)).value(), rows);
    EXPECT_EQ(file->columns.at(5).value_count, 30'000);
    EXPECT_EQ(file->columns.at(5).null_count, 4285);
}

TEST_F(DataFiles, ARowGroupEndsAt64MiBOfRows) {
    const std::string value(1 << 20, 'v');
    std::vector<OwnedRow> rows;
    for (int i = 0; i < 70; ++i) {
        rows.push_back({.offset = i, .value = value});
    }
    const auto file = write(rows);
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    ASSERT_EQ(file->split_offsets.size(), 2U);
    EXPECT_EQ(file->split_offsets[0], 4);
    EXPECT_GT(file->split_offsets[1], 4);
    EXPECT_EQ(read(read_local(file->path)).value(), rows);
}

TEST_F(DataFiles, StatisticsAreTheColumns) {
    const std::string longest = "0123456789abcdef-and-more";
    const auto file = write({
        {.partition = 2, .offset = 10, .timestamp_ms = 5, .key = {}, .value = longest},
        {.partition = 2, .offset = 11, .timestamp_ms = 3, .key = "k", .value = {}},
        {.partition = 4, .offset = 1, .timestamp_ms = 4, .headers = {{"a", {}}, {"b", "x"}}},
    });
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    const auto& columns = file->columns;
    const auto number = [](const std::optional<Bytes>& bound) {
        return bound->size() == 4 ? load_le<std::int32_t>(bound->data())
                                  : load_le<std::int64_t>(bound->data());
    };
    EXPECT_THAT(columns, testing::SizeIs(7));
    EXPECT_EQ(columns.at(1).lower->size(), 4U);
    EXPECT_EQ(number(columns.at(1).lower), 2);
    EXPECT_EQ(number(columns.at(1).upper), 4);
    EXPECT_EQ(columns.at(2).lower->size(), 8U);
    EXPECT_EQ(number(columns.at(2).lower), 1);
    EXPECT_EQ(number(columns.at(2).upper), 11);
    EXPECT_EQ(number(columns.at(3).lower), 3000);
    EXPECT_EQ(number(columns.at(3).upper), 5000);
    EXPECT_EQ(columns.at(4).lower->view(), "k");
    EXPECT_EQ(columns.at(4).upper->view(), "k");
    EXPECT_EQ(columns.at(5).lower->view(), "0123456789abcdef");
    EXPECT_EQ(columns.at(5).upper->view(), "0123456789abcdeg");
    EXPECT_FALSE(columns.at(8).lower.has_value());

    const auto counts = [&](int id) {
        return std::pair(columns.at(id).value_count, columns.at(id).null_count);
    };
    EXPECT_EQ(counts(1), std::pair(3L, 0L));
    EXPECT_EQ(counts(4), std::pair(3L, 2L));
    EXPECT_EQ(counts(5), std::pair(3L, 2L));
    EXPECT_EQ(counts(9).first, 4);
    std::int64_t sizes = 0;
    for (const auto& [id, stats] : columns) {
        EXPECT_GT(stats.size_bytes, 0) << id;
        sizes += stats.size_bytes;
    }
    EXPECT_LT(sizes, file->size_bytes);
}

TEST_F(DataFiles, WithoutRowsItIsEmptyAndReadable) {
    const auto file = write({});
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    EXPECT_EQ(file->rows, 0);
    EXPECT_TRUE(read(read_local(file->path)).value().empty());
}

TEST_F(DataFiles, WhatTheTableCannotHoldIsStoredAsTheNearestThing) {
    const std::int64_t max = std::numeric_limits<std::int64_t>::max();
    const auto file = write(
        {{.offset = 0, .timestamp_ms = max, .headers = {{"\xFF\xFEx", "\xFF"}, {"\xC3\xA9", {}}}}}
    );
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    const auto rows = read(read_local(file->path)).value();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].timestamp_ms, max / 1000);
    EXPECT_EQ(rows[0].headers[0].first, "\xEF\xBF\xBD\xEF\xBF\xBDx");
    EXPECT_EQ(rows[0].headers[0].second, "\xFF");
    EXPECT_EQ(rows[0].headers[1].first, "\xC3\xA9");
}

TEST_F(DataFiles, RowsOutOfOrderAreRefused) {
    auto writer = files().write_data_file(folder_.path() + "/data.parquet", 1).value();
    ASSERT_TRUE(add(*writer, {.partition = 1, .offset = 5}).ok());
    EXPECT_TRUE(add(*writer, {.partition = 1, .offset = 5}).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(add(*writer, {.partition = 0, .offset = 6}).is(ErrorCode::invalid_argument));
    ASSERT_TRUE(add(*writer, {.partition = 2, .offset = 0}).ok());
    EXPECT_EQ(writer->finish().value().rows, 2);
}

TEST_F(DataFiles, UnfinishedItLeavesNothing) {
    {
        auto writer = files().write_data_file(folder_.path() + "/data.parquet", 1).value();
        ASSERT_TRUE(add(*writer, {.value = "x"}).ok());
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(DataFiles, APathThatCannotBeWrittenIsNamed) {
    const std::string path = folder_.path() + "/missing/data.parquet";
    const auto writer = files().write_data_file(path, 1);
    ASSERT_TRUE(writer.is(ErrorCode::unsupported));
    EXPECT_THAT(writer.error().message, testing::HasSubstr(path));
}

TEST_F(DataFiles, AFullDiskIsExhausted) {
    const std::string path = folder_.path() + "/data.parquet";
    std::filesystem::create_symlink("/dev/full", path);
    auto writer = files().write_data_file(path, 1);
    const std::string noise = [] {
        std::string bytes;
        for (std::uint32_t x = 1; bytes.size() < 200'000; x = x * 1664525 + 1013904223) {
            bytes += static_cast<char>(x >> 24);
        }
        return bytes;
    }();
    Status added = writer.ok() ? Status() : Status(writer.error());
    for (int i = 0; added.ok() && i < 1000; ++i) {
        added = add(**writer, {.offset = i, .value = noise});
    }
    EXPECT_TRUE(added.is(ErrorCode::exhausted)) << (added.ok() ? "" : added.error().to_string());
}

TEST_F(DataFiles, DamagedBytesAreRefusedOrReadAsTheyWere) {
    std::vector<OwnedRow> rows;
    for (int i = 0; i < 50; ++i) {
        rows.push_back(
            {.offset = i, .key = fmt::format("{}", i), .value = "value", .headers = {{"h", "v"}}}
        );
    }
    const Bytes good = read_local(write(rows).value().path);
    int refused = 0;
    for (std::size_t at = 0; at < good.size(); at += 3) {
        std::vector<std::byte> bad(good.begin(), good.end());
        bad[at] ^= std::byte{0x10};
        const auto read_back = read(Bytes::own(std::move(bad)));
        if (read_back.ok()) {
            // The footer and page headers have parts that no reader looks at.
            EXPECT_EQ(*read_back, rows) << at;
        } else {
            EXPECT_TRUE(read_back.is(ErrorCode::corrupt) || read_back.is(ErrorCode::unsupported));
            ++refused;
        }
    }
    EXPECT_GT(refused, 100);
    for (std::size_t size = 0; size < good.size(); size += 7) {
        EXPECT_FALSE(read(good.slice(0, size)).ok()) << size;
    }
}

TEST_F(DataFiles, AFailingStoreIsNotACorruptFile) {
    const auto file = write({{.value = "x"}});
    auto stored = MemoryFile::of(read_local(file->path));
    MemoryFile& store = *stored;
    auto reader = files().read_data_file(std::move(stored)).value();
    store.fail_with(Error{.code = ErrorCode::unavailable, .message = "busy"});
    EXPECT_TRUE(reader->next().is(ErrorCode::unavailable));
    store.fail_with({});
    EXPECT_TRUE(reader->next().is(ErrorCode::unavailable)) << "columns may be out of step";
}

}  // namespace
}  // namespace lakestream::table
