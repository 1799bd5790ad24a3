// SPDX-License-Identifier: Apache-2.0
// The index against what Java writes and accepts, and against damage.
#include "table/compacted_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "codec/compress.h"
#include "codec/testing/golden.h"

namespace lakestream::table {
namespace {

using codec::golden_json;

EntryHeader header_of(const nlohmann::json& row) {
    return {
        .offset = Offset(row["offset"].get<std::int64_t>()),
        .records = row["record_count"],
        .timestamp_ms = row["written_timestamp"],
        .size_bytes = row["entry_size"],
        .cumulative_size = row["cumulative_size"]
    };
}

std::vector<EntryHeader> headers(std::size_t count) {
    std::vector<EntryHeader> rows;
    std::int64_t offset = 1'000'000'000'000;
    for (std::size_t i = 0; i < count; ++i) {
        const auto records = static_cast<std::int32_t>(1 + i % 5);
        rows.push_back(
            {.offset = Offset(offset),
             .records = records,
             .timestamp_ms = 1782961445000,
             .size_bytes = 100,
             .cumulative_size = static_cast<std::int64_t>(i) * 100}
        );
        offset += records;
    }
    return rows;
}

Bytes content_of(const std::vector<EntryHeader>& rows) {
    CompactedIndexWriter writer;
    std::string content;
    for (const EntryHeader& row : rows) {
        writer.add(row);
        content += writer.take();
    }
    return Bytes::own(content + writer.finish());
}

Result<std::vector<EntryHeader>> decode(std::string_view block) {
    std::string content("\0\0\0", 3);
    content += static_cast<char>(block.size());
    content += block;
    content += std::string("\x7F\xFF\xFF\xFF\0\0\0\2{}", 10);
    return decode_compacted_index_content(Bytes::copy(content));
}

TEST(CompactedIndex, MetadataIsWrittenAsJavaDoes) {
    int compared = 0;
    for (const auto& row : golden_json("from-java/compacted/entry-metadata.json")) {
        const std::string stored = row["base64"];
        EXPECT_EQ(decode_metadata(stored).value(), header_of(row)) << stored;
        if (row["schema_version"].is_null()) {
            EXPECT_EQ(encode_metadata(header_of(row)), stored);
            ++compared;
        }
    }
    EXPECT_EQ(compared, 5);
}

TEST(CompactedIndex, MetadataIsReadAsJavaDoes) {
    for (const auto& row : golden_json("from-java/compacted/entry-metadata-reader.json")) {
        const auto header = decode_metadata(row["base64"].get<std::string>());
        if (row["result"] == "rejected") {
            EXPECT_TRUE(header.is(ErrorCode::corrupt)) << row["case"];
        } else {
            EXPECT_EQ(header.value(), header_of(row)) << row["case"];
        }
    }
}

TEST(CompactedIndex, DamagedMetadataIsRefused) {
    for (const char* const text :
         {"EgoIABABGAAgACg", "????", "EgoIABABGAAgACgA====", "Egr/", "Ew=="}) {
        EXPECT_TRUE(decode_metadata(text).is(ErrorCode::corrupt)) << text;
    }
}

TEST(CompactedIndex, WhatIsWrittenIsRead) {
    constexpr auto block = CompactedIndexWriter::block_rows_max;
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}, block, block + 1}) {
        const auto rows = headers(count);
        const Bytes content = content_of(rows);
        EXPECT_EQ(decode_compacted_index_content(content).value(), rows) << count;
        const Bytes stored = codec::compress(codec::Compression::gzip, content);
        EXPECT_EQ(decode_compacted_index(stored).value(), rows) << count;
    }
}

TEST(CompactedIndex, AFullLastBlockIsNotFollowedByAnEmptyOne) {
    const Bytes content = content_of(headers(CompactedIndexWriter::block_rows_max));
    EXPECT_EQ(content.view().find("[]"), std::string_view::npos);
    EXPECT_EQ(content.view().find("}]"), content.view().rfind("}]"));
}

TEST(CompactedIndex, CutShortAnywhereItIsRefused) {
    const Bytes content = content_of(headers(3));
    for (std::size_t size = 0; size < content.size(); ++size) {
        EXPECT_TRUE(decode_compacted_index_content(content.slice(0, size)).is(ErrorCode::corrupt))
            << size;
    }
    const Bytes stored = codec::compress(codec::Compression::gzip, content);
    EXPECT_TRUE(decode_compacted_index(stored.slice(0, stored.size() - 1)).is(ErrorCode::corrupt));
}

TEST(CompactedIndex, RowsThatContradictThemselvesAreRefused) {
    const std::string good = encode_metadata({.offset = Offset(7), .records = 2});
    const auto row = [](const std::string& metadata, const std::string& offset) {
        return R"({"metadata":")" + metadata + R"(","offset":")" + offset + R"("})";
    };
    EXPECT_TRUE(decode("[" + row(good, "7") + "]").ok());
    EXPECT_TRUE(decode(R"([{"offset":"7","more":"x","metadata":")" + good + R"("}])").ok());
    for (const std::string& block : {
             "[" + row(good, "8") + "]",                         // another offset inside
             "[" + row(good, "7x") + "]",                        // not a number
             "[" + row(good, "7") + "," + row(good, "7") + "]",  // not ascending
             std::string(R"([{"offset":"7"}])"),
             std::string(R"([{"metadata":7,"offset":"7"}])"),
             std::string(R"([{"metadata":{}}])"),
             std::string(R"([[]])"),
             std::string(R"({"metadata":"","offset":"7"})"),
             std::string(R"("text")"),
             std::string(R"([)"),
             std::string(),
         }) {
        EXPECT_TRUE(decode(block).is(ErrorCode::corrupt)) << block;
    }
    const std::int64_t max = std::numeric_limits<std::int64_t>::max();
    for (const EntryHeader& header : {
             EntryHeader{.offset = Offset(7), .records = 0},
             EntryHeader{.offset = Offset(7), .records = -1},
             EntryHeader{.offset = Offset(7), .records = 1, .size_bytes = -1},
             EntryHeader{.offset = Offset(-7), .records = 1},
             EntryHeader{.offset = Offset(max), .records = 1},
         }) {
        const auto read =
            decode("[" + row(encode_metadata(header), std::to_string(header.offset.v)) + "]");
        EXPECT_TRUE(read.is(ErrorCode::corrupt)) << header.offset.v << " " << header.records;
    }
}

TEST(CompactedIndex, AnEmptyBlockAtTheEndIsRead) {
    EXPECT_TRUE(decode("[]").value().empty());
}

}  // namespace
}  // namespace lakestream::table
