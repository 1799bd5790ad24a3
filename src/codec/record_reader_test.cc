// SPDX-License-Identifier: Apache-2.0
// Records: vectors of the Java client, and refusal of malformed ones.
#include "codec/record_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/endian.h"
#include "base/result.h"
#include "codec/batch_builder.h"
#include "codec/testing/golden.h"

namespace lakestream::codec {
namespace {

constexpr std::size_t bytes_max = 1UL << 20;
constexpr std::size_t last_offset_delta_at = 23;
constexpr std::size_t record_count_at = 57;

nlohmann::json as_json(const NullableBytes& bytes) {
    if (!bytes) {
        return nullptr;
    }
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

/// A record as the golden descriptions have it.
nlohmann::json as_json(const Record& record, Offset base) {
    auto headers = nlohmann::json::array();
    for (const RecordHeader& header : record.headers) {
        headers.push_back({{"key", header.key}, {"value", as_json(header.value)}});
    }
    return {
        {"offset", base.v + record.offset_delta},
        {"timestamp", record.timestamp},
        {"key", as_json(record.key)},
        {"value", as_json(record.value)},
        {"headers", headers}
    };
}

TEST(RecordReader, RecordsOfTheJavaClient) {
    for (const auto& vector : golden_json("kafka/batches.json")) {
        const auto file = vector["file"].get<std::string>();
        Bytes bytes = golden_file("kafka/" + file);
        for (const auto& batch : vector["batches"]) {
            auto reader = RecordReader::open(bytes, bytes_max);
            ASSERT_TRUE(reader.ok()) << file << " " << reader.error().message;
            auto records = nlohmann::json::array();
            for (Record record; reader->next(record);) {
                records.push_back(as_json(record, reader->header().base_offset));
            }
            EXPECT_TRUE(reader->status().ok()) << file;
            EXPECT_EQ(records, batch["records"]) << file;
            bytes = bytes.slice(reader->header().size(), bytes.size() - reader->header().size());
        }
        EXPECT_TRUE(bytes.empty()) << file;
    }
}

/// A batch around hand-made records.
Bytes batch_around(std::string_view records_hex, std::int32_t count) {
    const Bytes records = from_hex(records_hex);
    const Bytes empty = empty_batch(Offset(0), Offset(9));
    std::vector<std::byte> batch(empty.begin(), empty.end());
    batch.insert(batch.end(), records.begin(), records.end());
    store_be(batch.data() + 8, static_cast<std::int32_t>(batch.size() - batch_prefix_bytes));
    store_be(batch.data() + record_count_at, count);
    return Bytes::own(std::move(batch));
}

Status read_all(const Bytes& batch) {
    auto reader = LKS_TRY(RecordReader::open(batch, bytes_max));
    for (Record record; reader.next(record);) {
    }
    return reader.status();
}

// length 6: attributes 0, timestamp delta 0, offset delta 0, key null, value null, no headers
constexpr std::string_view plain =
    "0c0000000101"
    "00";

TEST(RecordReader, HandMadeRecordIsRead) {
    EXPECT_TRUE(read_all(batch_around(plain, 1)).ok());
}

TEST(RecordReader, MalformedRecordsAreRefused) {
    const struct {
        const char* what;
        std::string records;
        std::int32_t count;
    } cases[] = {
        {"fewer records than said", std::string(plain), 2},
        {"no records but some said", "", 1},
        {"bytes after the last record", std::string(plain) + "00", 1},
        {"records but none said", std::string(plain), 0},
        {"a negative count", std::string(plain), -1},
        {"two records of one offset", std::string(plain) + std::string(plain), 2},
        {"an offset above the last",
         "0c00001401"
         "0100",
         1},
        {"a negative offset", "0c000001010100", 1},
        {"a length too short", "0a000000010100", 1},
        {"a length too long", "0e000000010100", 1},
        {"a negative length", "01000000010100", 1},
        {"a key longer than the batch", "0c000000feffffff0f0100", 1},
        {"a key length of -2", "0c000000030100", 1},
        {"a header count of -1", "0c000000010101", 1},
        {"two billion headers",
         "14000000"
         "0101"
         "feffffff0f",
         1},
        {"a header with a null key",
         "100000000101"
         "02"
         "0101",
         1},
        {"an overlong number", "ffffffffff00000000010100", 1},
    };
    for (const auto& malformed : cases) {
        const Status status = read_all(batch_around(malformed.records, malformed.count));
        ASSERT_TRUE(status.is(ErrorCode::corrupt)) << malformed.what;
        EXPECT_EQ(status.error().reason, static_cast<std::uint16_t>(BatchFault::record))
            << malformed.what;
        const Status checked =
            check_plain_records(batch_around(malformed.records, malformed.count));
        ASSERT_FALSE(checked.ok()) << malformed.what;
        EXPECT_EQ(checked.error().message, status.error().message);
    }
}

TEST(RecordReader, CheckingLooksAtRecordsThatAreNotCompressed) {
    for (const auto& vector : golden_json("kafka/batches.json")) {
        const auto file = vector["file"].get<std::string>();
        EXPECT_TRUE(check_plain_records(golden_file("kafka/" + file)).ok()) << file;
    }
    const Bytes bad = batch_around(plain, 2);
    EXPECT_FALSE(check_plain_records(bad).ok());
    std::vector<std::byte> gzip(bad.begin(), bad.end());
    gzip[22] = std::byte{1};
    EXPECT_TRUE(check_plain_records(Bytes::own(std::move(gzip))).ok());
}

TEST(RecordReader, CompressedJunkAndBombsAreRefused) {
    BatchBuilder builder({.codec = Compression::gzip});
    const std::string large(100'000, 'x');
    builder.add(1, std::nullopt, std::as_bytes(std::span(large)));
    const Bytes batch = builder.finish();
    EXPECT_TRUE(RecordReader::open(batch, 50'000).is(ErrorCode::exhausted));
    EXPECT_TRUE(RecordReader::open(batch, bytes_max).ok());

    std::vector<std::byte> damaged(batch.begin(), batch.end());
    damaged[batch_header_bytes] = std::byte{0};
    EXPECT_TRUE(RecordReader::open(Bytes::own(damaged), bytes_max).is(ErrorCode::corrupt));
}

TEST(RecordReader, SparseOffsetsOfACleanedBatchAreRead) {
    BatchBuilder builder;
    builder.add(5, std::nullopt, std::nullopt);
    const Bytes one = builder.finish();
    std::vector<std::byte> cleaned(one.begin(), one.end());
    store_be(cleaned.data() + last_offset_delta_at, std::int32_t{99});
    EXPECT_TRUE(read_all(Bytes::own(std::move(cleaned))).ok());
}

TEST(RecordReader, RecordsOutliveAMoveOfTheReader) {
    BatchBuilder builder({.codec = Compression::zstd});
    const std::string_view value = "a value";
    builder.add(5, std::nullopt, std::as_bytes(std::span(value)));
    auto first = RecordReader::open(builder.finish(), bytes_max);
    ASSERT_TRUE(first.ok());
    Record record;
    ASSERT_TRUE(first->next(record));
    RecordReader second = std::move(*first);
    EXPECT_EQ(as_json(record.value), value);
    EXPECT_FALSE(second.next(record));
    EXPECT_TRUE(second.status().ok());
}

}  // namespace
}  // namespace lakestream::codec
