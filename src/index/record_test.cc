// SPDX-License-Identifier: Apache-2.0
// Index values against golden bytes, both ways, and the readers' rules.
#include "index/record.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "codec/testing/golden.h"
#include "index/key.h"

namespace lakestream::index {
namespace {

using codec::from_hex;
using codec::golden_json;
using codec::to_hex;
using nlohmann::json;

Bytes bytes_of(const json& hex) {
    return from_hex(hex.get<std::string>());
}

void expect_fields(const IndexRecord& record, const json& expected) {
    EXPECT_EQ(record.location, expected.at("location").get<std::string>());
    EXPECT_EQ(record.file_type == FileType::parquet, expected.at("file_type") == "PARQUET");
    EXPECT_EQ(record.index_type == IndexType::compact, expected.at("index_type") == "COMPACT");
    EXPECT_EQ(record.message_count, expected.at("message_count").get<std::int32_t>());
    EXPECT_EQ(record.entry_size_bytes, expected.at("entry_size_bytes").get<std::int64_t>());
    EXPECT_EQ(record.file_size, expected.at("file_size").get<std::int64_t>());
    EXPECT_EQ(record.offset_in_file, expected.at("offset_in_file").get<std::int64_t>());
    EXPECT_EQ(record.entry_count, expected.at("entry_count").get<std::int32_t>());
    EXPECT_EQ(record.extension, std::nullopt);
    if (expected.contains("entry_offsets")) {
        EXPECT_EQ(
            record.entry_offsets, expected.at("entry_offsets").get<std::vector<std::uint32_t>>()
        );
    }
    if (expected.contains("extra_data")) {
        EXPECT_EQ(
            (std::map<std::string, std::string>(record.extra.begin(), record.extra.end())),
            (expected.at("extra_data").get<std::map<std::string, std::string>>())
        );
    }
}

TEST(IndexRecord, golden_values_both_ways) {
    std::size_t checked = 0;
    for (const char* file : {"index/values.json", "from-java/index/values.json"}) {
        for (const json& expected : golden_json(file)) {
            SCOPED_TRACE(expected.at("name").get<std::string>());
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
            const Bytes stored = bytes_of(expected.at("value_hex"));
            const auto record = IndexRecord::decode(stored);
            ASSERT_TRUE(record.ok()) << record.error().to_string();
            expect_fields(*record, expected);
            EXPECT_EQ(to_hex(record->encode()), to_hex(stored));
        }
    }
    EXPECT_GE(checked, 40U);
}

/// The record of one log, from an object's description and nothing else.
IndexRecord record_of(std::int64_t log, const json& object) {
    IndexRecord record{.location = object.at("location"), .index_type = IndexType::compact};
    std::uint32_t records = 0;
    for (const json& entry : object.at("entries_in_append_order")) {
        const auto length = entry.at("payload_length").get<std::int64_t>();
        record.file_size += length;
        if (entry.at("stream_id") != log) {
            record.index_type = IndexType::normal;
            continue;
        }
        record.entry_size_bytes += length;
        records += entry.at("record_count").get<std::uint32_t>();
        record.entry_offsets.push_back(records);
    }
    record.message_count = static_cast<std::int32_t>(records);
    record.entry_count = static_cast<std::int32_t>(record.entry_offsets.size());
    if (record.entry_count == 1) {
        record.entry_offsets.clear();
    }
    return record;
}

TEST(IndexRecord, golden_objects_publish_these_values) {
    std::size_t checked = 0;
    for (const std::string folder : {"wal", "from-java/wal"}) {
        for (const auto& file : std::filesystem::directory_iterator(codec::golden_dir() / folder)) {
            if (file.path().extension() != ".json") {
                continue;
            }
            SCOPED_TRACE(file.path().string());
            const json object = golden_json(folder + "/" + file.path().filename().string());
            if (!object.is_object() || !object.contains("index_puts")) {
                continue;
            }
            for (const json& put : object.at("index_puts")) {
                const auto log = put.at("stream_id").get<std::int64_t>();
                const IndexRecord record = record_of(log, object);
                EXPECT_EQ(sequence_prefix(LogId(log)), put.at("key_prefix").get<std::string>());
                EXPECT_EQ(record.message_count, put.at("sequence_deltas").at(0));
                EXPECT_EQ(record.entry_size_bytes, put.at("sequence_deltas").at(1));
                EXPECT_EQ(to_hex(record.encode()), put.at("value_hex").get<std::string>());
                ++checked;
            }
        }
    }
    EXPECT_GE(checked, 60U);
}

TEST(IndexRecord, reader_behaviour_of_the_reference) {
    for (const char* file :
         {"index/reader-behaviour.json", "from-java/index/reader-behaviour.json"}) {
        for (const json& expected : golden_json(file)) {
            SCOPED_TRACE(expected.at("case").get<std::string>());
            const auto record = IndexRecord::decode(bytes_of(expected.at("value_hex")));
            const bool accepted =
                expected.at("result") == "read" || expected.at("result") == "accepted";
            ASSERT_EQ(record.ok(), accepted) << (record.ok() ? "" : record.error().to_string());
            if (!record.ok()) {
                EXPECT_EQ(record.code(), ErrorCode::corrupt);
            } else if (expected.contains("location")) {
                expect_fields(*record, expected);
            }
            if (record.ok() && expected.value("headers", "") == "rejected") {
                EXPECT_EQ(record->entry_records().code(), ErrorCode::corrupt);
                EXPECT_FALSE(record->find_entry(Offset(record->message_count), Offset(0)).ok());
            }
        }
    }
}

TEST(IndexRecord, golden_search_of_the_entry_that_holds_an_offset) {
    const json golden = golden_json("from-java/index/header-search.json");
    const IndexKey key = parse_key(golden.at("key").get<std::string>()).value();
    const auto record = IndexRecord::decode(bytes_of(golden.at("value_hex")));
    ASSERT_TRUE(record.ok());
    EXPECT_EQ(key.end - record->message_count, Offset(golden.at("first_offset").get<int>()));
    for (const json& expected : golden.at("search")) {
        const Offset wanted(expected.at("offset").get<std::int64_t>());
        const auto found = record->find_entry(key.end, wanted);
        if (expected.contains("error")) {
            EXPECT_EQ(found.code(), ErrorCode::out_of_range) << wanted.v;
            continue;
        }
        ASSERT_TRUE(found.ok()) << wanted.v;
        EXPECT_EQ(found->range.begin.v, expected.at("found_offset").get<std::int64_t>());
        EXPECT_EQ(found->range.count(), expected.at("records").get<std::int64_t>());
        EXPECT_EQ(record->entry_records()->at(found->entry), found->range.count());
    }
}

TEST(IndexRecord, a_single_entry_is_the_whole_record) {
    const IndexRecord record{.message_count = 5, .entry_count = 1};
    const OffsetRange all{Offset(10), Offset(15)};
    EXPECT_EQ(record.find_entry(all.end, Offset(10)).value(), (EntrySpan{0, all}));
    EXPECT_EQ(record.find_entry(all.end, Offset(14)).value(), (EntrySpan{0, all}));
}

TEST(IndexRecord, contradicting_entry_offsets_are_damage) {
    for (const std::vector<std::uint32_t>& offsets : std::vector<std::vector<std::uint32_t>>{
             {}, {2, 2, 5}, {3, 2, 5}, {0, 5}, {2, 6}, {2, 4}
         }) {
        const IndexRecord record{.message_count = 5, .entry_count = 3, .entry_offsets = offsets};
        EXPECT_EQ(record.entry_records().code(), ErrorCode::corrupt);
    }
}

TEST(IndexRecord, text_of_another_form_is_refused) {
    for (const char* text : {"", "1-2", "1-2-3", "x-2-location-3", "1-2-location-x"}) {
        EXPECT_EQ(
            IndexRecord::decode_text(Bytes::copy(text), TextVersion::v1).code(), ErrorCode::corrupt
        ) << text;
    }
}

}  // namespace
}  // namespace lakestream::index
