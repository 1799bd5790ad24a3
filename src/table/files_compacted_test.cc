// SPDX-License-Identifier: Apache-2.0
// Compacted pairs, through the module as the program loads it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "codec/compress.h"
#include "codec/testing/golden.h"
#include "objstore/testing/temp_folder.h"
#include "table/compacted_file_index.h"
#include "table/compacted_index.h"
#include "table/files.h"
#include "table/parquet_footer.h"
#include "table/testing/memory_file.h"
#include "table/whole_pair.h"

namespace lakestream::table {
namespace {

using codec::golden_file;
using codec::golden_json;
using testing::ElementsAreArray;

constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();

TableFiles& files() {
    static const auto loaded = load_table_files().value();
    return *loaded;
}

Result<WholePair> open(Bytes parquet, Bytes index) {
    return WholePair::open(files(), std::move(parquet), std::move(index));
}

Result<WholePair> open(const CompactedPair& pair) {
    return open(read_local(pair.parquet_path), read_local(pair.index_path));
}

bool equal(const CompactedEntry& a, const CompactedEntry& b) {
    return a.range == b.range && a.timestamp_ms == b.timestamp_ms &&
           a.cumulative_size == b.cumulative_size && a.payload == b.payload;
}

bool equal(const std::vector<CompactedEntry>& a, const std::vector<CompactedEntry>& b) {
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return equal(x, y); });
}

std::vector<std::int64_t> offsets_of(const std::vector<CompactedEntry>& entries) {
    std::vector<std::int64_t> offsets;
    for (const auto& entry : entries) {
        offsets.push_back(entry.range.begin.v);
    }
    return offsets;
}

std::vector<CompactedEntry> some_entries(int count, std::size_t size_max) {
    std::vector<CompactedEntry> entries;
    std::int64_t offset = 4242;
    std::int64_t cumulative = 99'000;
    for (int i = 0; i < count; ++i) {
        const std::size_t size = static_cast<std::size_t>(i) * 7919 % (size_max + 1);
        cumulative += static_cast<std::int64_t>(size);
        entries.push_back(
            {.range = {.begin = Offset(offset), .end = Offset(offset + 1 + i % 5)},
             .timestamp_ms = 1782961445000 + i,
             .cumulative_size = cumulative,
             .payload = Bytes::own(std::string(size, static_cast<char>(i)))}
        );
        offset = entries.back().range.end.v;
    }
    return entries;
}

class CompactedPairs : public testing::Test {
  protected:
    Result<CompactedPair> write(
        const std::vector<CompactedEntry>& entries, const std::string& uuid = "u"
    ) {
        auto writer = LKS_TRY(files().write_compacted(folder_.path(), uuid, LogId(17)));
        for (const CompactedEntry& entry : entries) {
            LKS_TRY(writer->add(entry));
        }
        return writer->finish();
    }

    objstore::TempFolder folder_;
};

struct Golden {
    std::string folder;  // below the golden folder
    std::string tail;    // of the UUID

    std::string name(std::string_view suffix) const {
        return fmt::format("{}/ursa-00000000-0000-4000-8000-0000000000{}{}", folder, tail, suffix);
    }
    Result<WholePair> open_pair() const {
        return open(golden_file(name(".parquet")), golden_file(name(".index")));
    }
};

class GoldenPairs : public CompactedPairs, public testing::WithParamInterface<Golden> {};

INSTANTIATE_TEST_SUITE_P(
    Java,
    GoldenPairs,
    testing::Values(
        Golden{"compacted", "aa"},
        Golden{"compacted", "ab"},
        Golden{"compacted", "ac"},
        Golden{"compacted", "ad"},
        Golden{"compacted", "ae"},
        Golden{"from-java/compacted", "b1"},
        Golden{"from-java/compacted", "b2"},
        Golden{"from-java/compacted", "b3"},
        Golden{"from-java/compacted", "b4"}
    ),
    [](const auto& info) { return info.param.tail; }
);

TEST_P(GoldenPairs, HoldTheEntriesTheirJsonLists) {
    const auto json = golden_json(GetParam().name(".json"));
    auto reader = GetParam().open_pair().value();
    const auto entries = reader.read(Offset(json["first_offset"]), everything).value();
    ASSERT_EQ(entries.size(), json["rows"].get<std::size_t>());
    EXPECT_EQ(entries.back().range.end.v, json["end_offset_exclusive"]);
    const auto listed = json.value("entries", nlohmann::json::array());
    EXPECT_TRUE(listed.empty() || listed.size() == entries.size());
    for (std::size_t i = 0; i < listed.size(); ++i) {
        EXPECT_EQ(entries[i].range.begin.v, listed[i]["offset"]);
        EXPECT_EQ(entries[i].range.count(), listed[i]["record_count"]);
        EXPECT_EQ(entries[i].timestamp_ms, listed[i]["written_timestamp"]);
        EXPECT_EQ(entries[i].cumulative_size, listed[i]["cumulative_size"]);
        EXPECT_EQ(entries[i].payload.size(), listed[i]["entry_size"]);
        if (listed[i].contains("payload_hex")) {
            EXPECT_EQ(
                codec::to_hex(entries[i].payload), listed[i]["payload_hex"].get<std::string>()
            );
        }
    }
    for (const auto& row : json.value("some_entries", nlohmann::json::array())) {
        const CompactedEntry& entry = entries.at(row[0].get<std::size_t>());
        EXPECT_EQ(entry.range.begin.v, row[1]);
        EXPECT_EQ(entry.range.count(), row[2]);
        EXPECT_EQ(entry.timestamp_ms, row[3]);
        EXPECT_EQ(entry.payload.size(), row[4]);
        EXPECT_EQ(entry.cumulative_size, row[5]);
    }
    if (json.contains("payload_rule")) {
        for (std::size_t r = 0; r < entries.size(); ++r) {
            for (std::size_t i = 4; i < entries[r].payload.size(); ++i) {
                ASSERT_EQ(
                    std::to_integer<std::size_t>(entries[r].payload[i]),
                    (31 * r + 7 * i + (r >> 8)) % 256
                );
            }
        }
    }
}

TEST_P(GoldenPairs, AreReadAsTheJavaReaderReads) {
    const auto json = golden_json(GetParam().name(".json"));
    auto reader = GetParam().open_pair().value();
    for (const auto& read : json.value("reads", nlohmann::json::array())) {
        const Offset from(read["start_offset"].get<std::int64_t>());
        if (from.v < json["first_offset"]) {
            const auto begin = reader.read(from, everything).value();
            EXPECT_EQ(begin.at(0).range.begin.v, json["first_offset"]) << read;
            continue;
        }
        if (from.v >= json["end_offset_exclusive"]) {
            // Java's reader may give an entry before the start; ours never does.
            EXPECT_TRUE(reader.read(from, everything).is(ErrorCode::out_of_range)) << read;
            continue;
        }
        // Without approximate matching Java finds base offsets only; that is not our contract.
        if (read.contains("error") || read["max_messages"] == 0 ||
            read.value("max_bytes", 1) == 0) {
            continue;
        }
        const bool by_bytes = read.contains("max_bytes");
        const auto entries =
            reader.read(from, by_bytes ? read["max_bytes"].get<std::uint64_t>() : everything);
        auto offsets = offsets_of(entries.value());
        const auto expected = read["offsets"].get<std::vector<std::int64_t>>();
        if (!by_bytes) {
            offsets.resize(std::min(offsets.size(), expected.size()));
        }
        EXPECT_THAT(offsets, ElementsAreArray(expected)) << read;
    }
}

/// Our pair of the same entries says the same, block by block.
TEST_P(GoldenPairs, AreWrittenAgainWithTheSameContent) {
    const auto json = golden_json(GetParam().name(".json"));
    auto reader = GetParam().open_pair().value();
    const auto entries = reader.read(Offset(json["first_offset"]), everything).value();
    const auto pair = write(entries);
    ASSERT_TRUE(pair.ok()) << pair.error().to_string();
    EXPECT_EQ(pair->entries, json["rows"]);
    const auto again = open(*pair).value().read(entries.front().range.begin, everything).value();
    EXPECT_TRUE(equal(again, entries));

    const auto content = [](const Bytes& index) {
        return codec::decompress(codec::Compression::gzip, index, 1 << 30).value();
    };
    const Bytes theirs = content(golden_file(GetParam().name(".index")));
    const Bytes ours = content(read_local(pair->index_path));
    const bool same_blocks =
        !json.contains("index_block_rows") || json["index_block_rows"] == 10000;
    if (same_blocks) {
        const auto blocks = ours.view().find("}]") + 2;
        EXPECT_EQ(ours.view().substr(0, blocks), theirs.view().substr(0, blocks));
    }
    const auto map = [](const Bytes& index) {
        return nlohmann::json::parse(index.view().substr(index.view().rfind('{')));
    };
    EXPECT_EQ(map(ours), map(theirs));

    CompactedFileIndex file_index;
    file_index.add(entries.back().range.end - 1, json["parquet"]);
    EXPECT_EQ(file_index.encode(), json["file_index_base64"].get<std::string>());
}

TEST_F(CompactedPairs, EveryOffsetIsFoundInItsEntry) {
    const auto entries = some_entries(40, 300);
    auto reader = open(write(entries).value()).value();
    for (const CompactedEntry& entry : entries) {
        for (Offset offset = entry.range.begin; offset < entry.range.end; offset = offset + 1) {
            const auto read = reader.read(offset, 0).value();
            ASSERT_EQ(read.size(), 1U);
            EXPECT_TRUE(equal(read[0], entry)) << offset.v;
        }
    }
    EXPECT_TRUE(
        equal(reader.read(entries.front().range.begin - 1, 1).value().at(0), entries.front())
    );
    EXPECT_TRUE(reader.read(entries.back().range.end, 1).is(ErrorCode::out_of_range));
}

TEST_F(CompactedPairs, ReadsForwardBackwardAndOverRowGroups) {
    const auto entries = some_entries(400, 100'000);  // 20 MB: many row groups
    const auto pair = write(entries).value();
    std::int64_t payload = 0;
    for (const auto& entry : entries) {
        payload += static_cast<std::int64_t>(entry.payload.size());
    }
    EXPECT_EQ(pair.payload_bytes, payload);
    EXPECT_GT(payload, 2 * (8 << 20));
    auto reader = open(pair).value();
    for (const std::size_t from : {0U, 399U, 150U, 151U, 300U, 10U}) {
        const auto read = reader.read(entries[from].range.begin, 3'000'000).value();
        const auto first = entries.begin() + static_cast<std::ptrdiff_t>(from);
        EXPECT_TRUE(equal(read, {first, first + static_cast<std::ptrdiff_t>(read.size())}));
        EXPECT_TRUE(read.size() > 40 || from + read.size() == entries.size());
    }
}

TEST_F(CompactedPairs, BehindAGapComesTheNextEntry) {
    auto entries = some_entries(2, 10);
    const std::int64_t begin = entries[1].range.begin.v;
    entries[1].range = {.begin = Offset(begin + 5), .end = Offset(begin + 6)};
    auto reader = open(write(entries).value()).value();
    EXPECT_TRUE(equal(reader.read(Offset(begin), 1).value().at(0), entries[1]));
    EXPECT_EQ(reader.read(Offset(begin + 5), 1).value().size(), 1U);
}

TEST_F(CompactedPairs, EntriesOutOfOrderAreRefused) {
    auto writer = files().write_compacted(folder_.path(), "u", LogId(1)).value();
    const auto entries = some_entries(2, 10);
    ASSERT_TRUE(writer->add(entries[1]).ok());
    EXPECT_TRUE(writer->add(entries[0]).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(writer->add(entries[1]).is(ErrorCode::invalid_argument));
    CompactedEntry empty = entries[1];
    empty.range = {.begin = Offset(9000), .end = Offset(9000)};
    EXPECT_TRUE(writer->add(empty).is(ErrorCode::invalid_argument));
    EXPECT_EQ(writer->finish().value().entries, 1);
}

TEST_F(CompactedPairs, UnfinishedOrEmptyTheyLeaveNothing) {
    {
        auto writer = files().write_compacted(folder_.path(), "u", LogId(1)).value();
        ASSERT_TRUE(writer->add(some_entries(1, 10)[0]).ok());
    }
    EXPECT_TRUE(write({}).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(CompactedPairs, HalvesOfDifferentPairsAreRefused) {
    const auto a = write(some_entries(5, 100), "a").value();
    const auto b = write(some_entries(6, 100), "b").value();
    EXPECT_TRUE(open(read_local(a.parquet_path), read_local(b.index_path)).is(ErrorCode::corrupt));
    const auto c = write(some_entries(5, 50), "c").value();
    auto mixed = open(read_local(a.parquet_path), read_local(c.index_path)).value();
    EXPECT_TRUE(mixed.read(Offset(4242), everything).is(ErrorCode::corrupt));
}

TEST_F(CompactedPairs, ATableFileIsNotACompactedObject) {
    auto writer = files().write_data_file(folder_.path() + "/data.parquet", 1).value();
    const std::string data = writer->finish().value().path;
    const auto pair = write(some_entries(1, 10)).value();
    EXPECT_TRUE(open(read_local(data), read_local(pair.index_path)).is(ErrorCode::unsupported));
}

TEST_F(CompactedPairs, DamagedBytesAreRefusedOrReadAsTheyWere) {
    const auto entries = some_entries(20, 60);
    const auto pair = write(entries).value();
    const Bytes parquet = read_local(pair.parquet_path);
    const Bytes index = read_local(pair.index_path);
    const auto read = [](Bytes p, Bytes i) -> Result<std::vector<CompactedEntry>> {
        return LKS_TRY(open(std::move(p), std::move(i))).read(Offset(4242), everything);
    };
    int refused = 0;
    const auto check = [&](const auto& got, std::size_t at) {
        if (got.ok()) {
            EXPECT_TRUE(equal(*got, entries)) << at;
        } else {
            ++refused;
        }
    };
    for (std::size_t at = 0; at < parquet.size(); ++at) {
        std::vector<std::byte> bad(parquet.begin(), parquet.end());
        bad[at] ^= std::byte{0x04};
        check(read(Bytes::own(std::move(bad)), index), at);
        EXPECT_FALSE(read(parquet.slice(0, at), index).ok()) << at;
    }
    for (std::size_t at = 0; at < index.size(); ++at) {
        std::vector<std::byte> bad(index.begin(), index.end());
        bad[at] ^= std::byte{0x04};
        check(read(parquet, Bytes::own(std::move(bad))), at);
        EXPECT_FALSE(read(parquet, index.slice(0, at)).ok()) << at;
    }
    EXPECT_GT(refused, 800);
}

TEST_F(CompactedPairs, ARowGroupIsReadFromItsOwnBytes) {
    const auto entries = some_entries(400, 100'000);  // 20 MB: many row groups
    const auto pair = write(entries).value();
    const Bytes parquet = read_local(pair.parquet_path);
    const Bytes tail = parquet.slice(parquet.size() - 4096, 4096);
    const auto reader =
        files().read_compacted(parquet.size(), tail, read_local(pair.index_path)).value();
    std::vector<CompactedEntry> all;
    std::vector<RowGroup> groups;
    while (all.size() < entries.size()) {
        const Offset from = all.empty() ? entries.front().range.begin : all.back().range.end;
        groups.push_back(reader->find(from, 0).value().at(0));
        const auto [number, begin, end] = groups.back();
        const auto rows = reader->open(groups.back(), parquet.slice(begin, end - begin)).value();
        EXPECT_GE(rows->bytes(), end - begin);
        EXPECT_LT(end - begin, 3U << 20);
        const auto read = rows->read(from, everything).value();
        EXPECT_TRUE(rows->read(read.back().range.end, 1).is(ErrorCode::out_of_range));
        const auto again = rows->read(read[1].range.begin, 1).value();
        EXPECT_TRUE(equal(again.at(0), read[1])) << "back to the begin";
        EXPECT_EQ(reader->find(read.back().range.begin, 0).value().at(0).number, number);
        all.insert(all.end(), read.begin(), read.end());
    }
    EXPECT_TRUE(equal(all, entries));
    EXPECT_GE(groups.size(), 8U);
    EXPECT_TRUE(reader->find(all.back().range.end, 0).is(ErrorCode::out_of_range));
    EXPECT_GE(reader->bytes(), 400 * sizeof(EntryHeader));
}

TEST_F(CompactedPairs, ATailWithoutTheWholeFooterIsRefused) {
    const auto pair = write(some_entries(5, 100)).value();
    const Bytes parquet = read_local(pair.parquet_path);
    const auto needed = parquet_footer_bytes(parquet, parquet.size()).value();
    const auto open_tail = [&](std::size_t count) {
        return files().read_compacted(
            parquet.size(),
            parquet.slice(parquet.size() - count, count),
            read_local(pair.index_path)
        );
    };
    EXPECT_TRUE(open_tail(needed).ok());
    EXPECT_TRUE(open_tail(needed - 1).is(ErrorCode::corrupt));
}

}  // namespace
}  // namespace lakestream::table
