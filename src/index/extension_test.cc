// SPDX-License-Identifier: Apache-2.0
// The extension field: what it keeps, what it costs, what is refused.
#include "index/extension.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "codec/testing/golden.h"

namespace lakestream::index {
namespace {

/// A record whose entries hold these numbers of records.
IndexRecord record_with(const std::vector<std::uint32_t>& counts) {
    IndexRecord record{
        .location = "2026/07/01/12/34/56/00000000-0000-4000-8000-000000000001",
        .entry_size_bytes = 100,
        .file_size = 100,
        .entry_count = static_cast<std::int32_t>(counts.size()),
    };
    for (const std::uint32_t count : counts) {
        record.message_count += static_cast<std::int32_t>(count);
        record.entry_offsets.push_back(static_cast<std::uint32_t>(record.message_count));
    }
    if (counts.size() == 1) {
        record.entry_offsets.clear();
    }
    record.extension.emplace();
    return record;
}

/// Bytes that the extension field adds to the stored record, which must come back unchanged.
std::size_t added_bytes(const IndexRecord& record) {
    const Bytes stored = record.encode();
    const auto decoded = IndexRecord::decode(stored);
    EXPECT_TRUE(decoded.ok()) << decoded.error().to_string();
    EXPECT_EQ(*decoded, record);
    IndexRecord plain = record;
    plain.extension.reset();
    return stored.size() - plain.encode().size();
}

TEST(Extension, example_of_the_format_page) {
    IndexRecord record = record_with({3, 2});
    record.extension = Extension{
        .crc32c = 0xdeadbeef,
        .max_timestamp = 8,
        .producers =
            {{.entry = 0, .producer_id = 7}, {.entry = 1, .producer_id = 7, .base_sequence = 3}},
    };
    const Bytes field = encode_extension(*record.extension, record);
    EXPECT_EQ(codec::to_hex(field), "01deadbeef10010e000502");
    EXPECT_EQ(decode_extension(field.span(), record).value(), record.extension);
}

TEST(Extension, keeps_runs_gaps_and_wraps) {
    IndexRecord record = record_with({1, 2, 3, 1, 2, 1, 4});
    record.extension = Extension{
        .crc32c = 0xdeadbeef,
        .max_timestamp = 1'782'900'000'123,
        .producers =
            {
                {.entry = 0, .producer_id = 7, .epoch = 1, .base_sequence = 2147483647},
                {.entry = 1, .producer_id = 7, .epoch = 1, .base_sequence = 0},
                {.entry = 3, .producer_id = 7, .epoch = 1, .base_sequence = 2},
                {.entry = 4, .producer_id = 9, .epoch = 32767, .base_sequence = 3},
                {.entry = 5, .producer_id = 9, .epoch = 32767, .base_sequence = 77},
            },
    };
    added_bytes(record);
    EXPECT_EQ(record.entry_records().value(), (std::vector<std::int32_t>{1, 2, 3, 1, 2, 1, 4}));
}

TEST(Extension, keeps_transactions_and_the_extremes) {
    constexpr std::int64_t id_max = std::numeric_limits<std::int64_t>::max();
    IndexRecord record = record_with({5, 1, 1, 1, 1, 1});
    record.extension->producers = {
        {.entry = 0, .producer_id = 7, .base_sequence = 10, .is_transactional = true},
        {.entry = 1,
         .producer_id = 7,
         .base_sequence = -1,
         .is_transactional = true,
         .is_control = true},
        {.entry = 2, .producer_id = 7, .base_sequence = 15},
        {.entry = 3, .producer_id = 7, .epoch = -1, .base_sequence = 16},
        {.entry = 4, .producer_id = id_max, .epoch = -32768, .base_sequence = 2147483647},
        {.entry = 5, .producer_id = -id_max - 1, .epoch = 32767, .base_sequence = -2147483647 - 1},
    };
    added_bytes(record);
}

TEST(Extension, costs_what_the_decision_record_says) {
    EXPECT_EQ(added_bytes(record_with({10})), 10U);
    // One producer's entries in a row: named once.
    IndexRecord record = record_with(std::vector<std::uint32_t>(1000, 10));
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const auto sequence = static_cast<std::int32_t>(1'000'000 + i * 10);
        record.extension->producers.push_back({i, 123456, 0, sequence});
    }
    EXPECT_LE(added_bytes(record), 24U);
    // Ten producers that alternate: one byte an entry.
    record.extension->producers.clear();
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const auto sequence = static_cast<std::int32_t>(1'000'000 + i / 10 * 10);
        record.extension->producers.push_back({i, 123456 + i % 10, 0, sequence});
    }
    EXPECT_LE(added_bytes(record), 1000U + 100U);
}

/// Decode a record of two entries with this extension field.
Result<IndexRecord> decode_with(const std::string& field) {
    IndexRecord record = record_with({1, 4});
    record.extension.reset();
    std::string stored(record.encode().view());
    stored += "\xa2\x06";  // field 100, length-delimited
    stored.push_back(static_cast<char>(field.size()));
    return IndexRecord::decode(Bytes::own(stored + field));
}

TEST(Extension, a_newer_version_is_skipped) {
    const auto record = decode_with("\x02whatever");
    ASSERT_TRUE(record.ok());
    EXPECT_EQ(record->extension, std::nullopt);
}

TEST(Extension, damage_is_refused) {
    using std::string_literals::operator""s;
    const std::string head = "\x01\0\0\0\0\x01"s;  // version, checksum, timestamp
    const std::string one_producer = head + "\x01\x0e\0"s;
    ASSERT_TRUE(decode_with(one_producer + "\x05\x02"s).ok());  // both entries
    for (const std::string& field : {
             ""s,
             "\x01\0\0\0"s,
             head,
             head + "\x02\x0e\0"s,        // two producers, one there
             head + "\x01"s,              // one producer, none there
             one_producer + "\x05\x03"s,  // three entries of two
             one_producer + "\x05\0"s,    // no entries
             one_producer + "\x05"s,
             one_producer + "\x06"s,
             one_producer + "\x08"s,  // the second producer of one
             one_producer + "\x04\x04\x04"s,
             head + "\xff\xff\xff\xff\x0f"s,
         }) {
        EXPECT_EQ(decode_with(field).code(), ErrorCode::corrupt) << testing::PrintToString(field);
    }
}

TEST(Extension, of_a_record_that_contradicts_itself_is_refused) {
    IndexRecord record = record_with({1, 4});
    record.message_count = 6;
    EXPECT_EQ(IndexRecord::decode(record.encode()).code(), ErrorCode::corrupt);
    record.extension.reset();
    EXPECT_TRUE(IndexRecord::decode(record.encode()).ok());
}

}  // namespace
}  // namespace lakestream::index
