// SPDX-License-Identifier: Apache-2.0
// Index keys and values against golden bytes, both ways; the extension field.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "index/key.h"
#include "index/record.h"

namespace lakestream::index {
namespace {

using nlohmann::json;

json golden(std::string_view file) {
    const char* root = std::getenv("LKS_GOLDEN_DIR");
    std::ifstream in(
        std::filesystem::path(root != nullptr ? root : LKS_SOURCE_DIR "/tests/golden") / file
    );
    return json::parse(in);
}

Bytes from_hex(const std::string& hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return Bytes::own(std::move(bytes));
}

void expect_fields(const IndexRecord& record, const json& expected) {
    EXPECT_EQ(record.location, expected.at("location").get<std::string>());
    EXPECT_EQ(record.file_type == FileType::parquet, expected.at("file_type") == "PARQUET");
    EXPECT_EQ(record.index_type == IndexType::compact, expected.at("index_type") == "COMPACT");
    EXPECT_EQ(record.message_count, expected.at("message_count").get<std::int32_t>());
    EXPECT_EQ(record.entry_size_bytes, expected.at("entry_size_bytes").get<std::int64_t>());
    EXPECT_EQ(record.file_size, expected.at("file_size").get<std::int64_t>());
    EXPECT_EQ(record.entry_count, expected.at("entry_count").get<std::int32_t>());
    if (expected.contains("entry_offsets")) {
        EXPECT_EQ(
            record.entry_offsets, expected.at("entry_offsets").get<std::vector<std::uint32_t>>()
        );
    }
}

TEST(IndexKey, golden_keys_and_bounds) {
    for (const json& expected : golden("from-java/index/keys.json")) {
        const IndexKey key{
            LogId(expected.at("stream_id").get<std::int64_t>()),
            Offset(expected.at("end_offset").get<std::int64_t>()),
            expected.at("cumulative_size").get<std::int64_t>(),
        };
        const std::string text = expected.at("key");
        EXPECT_EQ(key.to_string(), text);
        EXPECT_EQ(parse_key(key.log, text).value(), key);
        EXPECT_EQ(bound_first(key.log), expected.at("smallest").get<std::string>());
        EXPECT_EQ(bound_last(key.log), expected.at("largest").get<std::string>());
        EXPECT_EQ(
            bound_after(key.log, key.end), expected.at("largest_at_offset").get<std::string>()
        );
        EXPECT_FALSE(parse_key(LogId(key.log.v ^ 1), text).ok());
    }
    EXPECT_FALSE(parse_key("00000000000000000001-00000000000000000002").ok());
    EXPECT_FALSE(parse_key("0000000000000000000x-00000000000000000002-00000000000000000003").ok());
}

TEST(IndexRecord, golden_values_both_ways) {
    for (const char* file : {"index/values.json", "from-java/index/values.json"}) {
        const json all = golden(file);
        std::size_t checked = 0;
        for (const json& expected : all) {
            SCOPED_TRACE(expected.value("name", expected.dump().substr(0, 80)));
            ++checked;
            if (expected.contains("value_text")) {
                const auto record = IndexRecord::decode_text(
                    Bytes::copy(expected.at("value_text").get<std::string>()),
                    expected.at("format_version") == 1 ? TextVersion::v1 : TextVersion::v2
                );
                ASSERT_TRUE(record.ok()) << record.error().to_string();
                expect_fields(*record, expected);
                continue;
            }
            const Bytes stored = from_hex(expected.at("value_hex"));
            const auto record = IndexRecord::decode(stored);
            ASSERT_TRUE(record.ok()) << record.error().to_string();
            expect_fields(*record, expected);
            EXPECT_EQ(record->encode(), stored);
        }
        EXPECT_GE(checked, 8U) << file;
    }
}

TEST(IndexRecord, reader_behaviour_of_the_reference) {
    for (const char* file :
         {"index/reader-behaviour.json", "from-java/index/reader-behaviour.json"}) {
        for (const json& expected : golden(file)) {
            SCOPED_TRACE(expected.value("case", expected.dump().substr(0, 100)));
            const auto record = IndexRecord::decode(from_hex(expected.at("value_hex")));
            const bool accepted =
                expected.at("result") == "read" || expected.at("result") == "accepted";
            EXPECT_EQ(record.ok(), accepted) << (record.ok() ? "" : record.error().to_string());
            if (record.ok() && expected.contains("location")) {
                expect_fields(*record, expected);
            }
        }
    }
}

IndexRecord sample(std::vector<std::uint32_t> offsets) {
    return {
        .location = "2026/07/01/12/34/56/00000000-0000-4000-8000-000000000001",
        .message_count = static_cast<std::int32_t>(offsets.back()),
        .entry_size_bytes = 100,
        .file_size = 100,
        .entry_count = static_cast<std::int32_t>(offsets.size()),
        .entry_offsets = offsets.size() > 1 ? offsets : std::vector<std::uint32_t>(),
    };
}

TEST(Extension, round_trips_runs_gaps_and_wraps) {
    IndexRecord record = sample({1, 3, 6, 7, 9, 10});
    record.extension = Extension{
        .crc32c = 0xdeadbeef,
        .max_timestamp = 1'782'900'000'123,
        .producers =
            {
                {.entry = 0, .producer_id = 7, .epoch = 1, .base_sequence = 2147483647},
                {.entry = 1, .producer_id = 7, .epoch = 1, .base_sequence = 0},
                {.entry = 3, .producer_id = 7, .epoch = 1, .base_sequence = 2},
                {.entry = 4, .producer_id = 9, .epoch = 0, .base_sequence = 3},
                {.entry = 5, .producer_id = 9, .epoch = 0, .base_sequence = 5},
            },
    };
    const auto decoded = IndexRecord::decode(record.encode());
    ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
    EXPECT_EQ(*decoded, record);
    const auto records = decoded->entry_records();
    EXPECT_EQ(*records, (std::vector<std::int32_t>{1, 2, 3, 1, 2, 1}));
}

TEST(Extension, consecutive_entries_of_one_producer_cost_almost_nothing) {
    std::vector<std::uint32_t> offsets;
    for (std::uint32_t i = 1; i <= 1000; ++i) {
        offsets.push_back(i * 10);
    }
    IndexRecord record = sample(offsets);
    const std::size_t plain = record.encode().size();
    record.extension.emplace();
    for (std::uint32_t i = 0; i < 1000; ++i) {
        record.extension->producers.push_back(
            {.entry = i,
             .producer_id = 123456,
             .epoch = 0,
             .base_sequence = static_cast<std::int32_t>(i * 10)}
        );
    }
    EXPECT_LE(record.encode().size(), plain + 32);
    EXPECT_EQ(IndexRecord::decode(record.encode())->extension, record.extension);
}

TEST(Extension, a_newer_version_is_skipped_and_damage_is_refused) {
    IndexRecord record = sample({5});
    const Bytes plain = record.encode();
    const auto with_field = [&](std::string field) {
        std::string bytes(plain.view());
        bytes += "\xa2\x06";  // field 100, length-delimited
        bytes.push_back(static_cast<char>(field.size()));
        return IndexRecord::decode(Bytes::own(bytes + field));
    };
    EXPECT_EQ(with_field("\x02whatever")->extension, std::nullopt);
    EXPECT_FALSE(with_field("").ok());
    EXPECT_FALSE(with_field(std::string("\x01\0\0\0", 4)).ok());
    // A run of two entries where there is one.
    EXPECT_FALSE(with_field(std::string("\x01\0\0\0\0\x01\x01\x00\x02\x0e\x00\x00", 12)).ok());
}

}  // namespace
}  // namespace lakestream::index
