// SPDX-License-Identifier: Apache-2.0
// Batch headers: vectors of the Java client, and one test per way to be refused.
#include "codec/record_batch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/endian.h"
#include "codec/batch_builder.h"
#include "codec/crc32c.h"
#include "codec/testing/golden.h"

namespace lakestream::codec {
namespace {

constexpr std::size_t length_at = 8;
constexpr std::size_t magic_at = 16;
constexpr std::size_t crc_at = 17;
constexpr std::size_t attributes_at = 21;
constexpr std::size_t last_offset_delta_at = 23;
constexpr std::size_t base_timestamp_at = 27;
constexpr std::size_t max_timestamp_at = 35;
constexpr std::size_t record_count_at = 57;

NullableBytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::vector<std::byte> batch_of_two() {
    BatchBuilder builder;
    builder.add(1000, bytes_of("k"), bytes_of("v"));
    builder.add(1001, bytes_of("k"), bytes_of("w"));
    const Bytes batch = builder.finish();
    return {batch.begin(), batch.end()};
}

/// Change one field and make the CRC right again.
template <class T>
std::vector<std::byte> altered(std::size_t at, T value) {
    std::vector<std::byte> batch = batch_of_two();
    store_be(batch.data() + at, value);
    store_be(batch.data() + crc_at, crc32c(std::span(batch).subspan(attributes_at)));
    return batch;
}

void expect_fault(
    std::span<const std::byte> records, BatchFault fault, const BatchLimits& limits = {}
) {
    const auto result = validate_batches(records, limits);
    ASSERT_FALSE(result.ok()) << static_cast<int>(fault);
    EXPECT_EQ(result.error().reason, static_cast<std::uint16_t>(fault)) << result.error().message;
    const bool unknown_form = fault == BatchFault::magic || fault == BatchFault::codec;
    EXPECT_EQ(result.code(), unknown_form ? ErrorCode::unsupported : ErrorCode::corrupt);
}

TEST(RecordBatch, HeadersOfTheJavaClient) {
    const auto cases = golden_json("kafka/batches.json");
    ASSERT_EQ(cases.size(), 9);
    for (const auto& vector : cases) {
        const auto file = vector["file"].get<std::string>();
        const Bytes records = golden_file("kafka/" + file);
        const auto headers = validate_batches(records.span(), {.batches_max = 2});
        ASSERT_TRUE(headers.ok()) << file << " " << headers.error().message;
        const auto& batches = vector["batches"];
        ASSERT_EQ(headers->size(), batches.size()) << file;
        for (std::size_t i = 0; i < batches.size(); ++i) {
            const BatchHeader& header = (*headers)[i];
            const auto& batch = batches[i];
            const std::string_view type = header.timestamp_type() == TimestampType::log_append_time
                                              ? "LogAppendTime"
                                              : "CreateTime";
            EXPECT_EQ(header.base_offset.v, batch["base_offset"].get<std::int64_t>()) << file;
            EXPECT_EQ(header.last_offset().v, batch["last_offset"].get<std::int64_t>()) << file;
            EXPECT_EQ(header.record_count, batch["count"].get<int>()) << file;
            EXPECT_EQ(header.size(), batch["size"].get<std::size_t>()) << file;
            EXPECT_EQ(header.crc, batch["crc32c"].get<std::uint32_t>()) << file;
            EXPECT_EQ(to_string(header.codec()), batch["compression"].get<std::string>()) << file;
            EXPECT_EQ(type, batch["timestamp_type"].get<std::string>()) << file;
            EXPECT_EQ(header.max_timestamp, batch["max_timestamp"].get<std::int64_t>()) << file;
            EXPECT_EQ(header.producer_id, batch["producer_id"].get<std::int64_t>()) << file;
            EXPECT_EQ(header.producer_epoch, batch["producer_epoch"].get<int>()) << file;
            EXPECT_EQ(header.base_sequence, batch["base_sequence"].get<int>()) << file;
            EXPECT_EQ(header.leader_epoch, batch["leader_epoch"].get<int>()) << file;
            EXPECT_EQ(header.has_producer(), file == "idempotent.bin") << file;
            EXPECT_FALSE(header.is_control() || header.is_transactional()) << file;
        }
    }
}

TEST(RecordBatch, WholeBatchIsAccepted) {
    const auto headers = validate_batches(batch_of_two(), {});
    ASSERT_TRUE(headers.ok());
    EXPECT_EQ(headers->at(0).record_count, 2);
    EXPECT_EQ(headers->at(0).base_timestamp, 1000);
    EXPECT_EQ(headers->at(0).max_timestamp, 1001);
}

TEST(RecordBatch, TheNewestTimestampOfAnEntryIsItsBatchesLargest) {
    EXPECT_EQ(newest_timestamp({}).value(), -1);
    EXPECT_EQ(newest_timestamp(altered(max_timestamp_at, std::int64_t{-1})).value(), -1);
    std::vector<std::byte> entry = altered(max_timestamp_at, std::int64_t{5000});
    const std::vector<std::byte> second = batch_of_two();
    entry.insert(entry.end(), second.begin(), second.end());
    EXPECT_EQ(newest_timestamp(entry).value(), 5000);
    EXPECT_EQ(newest_timestamp(second).value(), 1001);
    entry.pop_back();
    EXPECT_FALSE(newest_timestamp(entry).ok()) << "nobody knows what the second says";
}

TEST(RecordBatch, EveryTruncationIsRefused) {
    const std::vector<std::byte> batch = batch_of_two();
    expect_fault({}, BatchFault::batches);
    for (std::size_t size = 1; size < batch.size(); ++size) {
        expect_fault(std::span(batch).first(size), BatchFault::cut_short);
    }
}

TEST(RecordBatch, EveryFlippedBitUnderTheCrcIsRefused) {
    const std::vector<std::byte> batch = batch_of_two();
    for (std::size_t at = magic_at; at < batch.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::vector<std::byte> damaged = batch;
            damaged[at] ^= std::byte{1} << bit;
            EXPECT_FALSE(validate_batches(damaged, {}).ok()) << at << " " << bit;
        }
    }
}

TEST(RecordBatch, EachFaultHasItsReason) {
    using Int32 = std::int32_t;
    using Int64 = std::int64_t;
    expect_fault(altered(magic_at, std::int8_t{0}), BatchFault::magic);
    expect_fault(altered(magic_at, std::int8_t{1}), BatchFault::magic);
    expect_fault(altered(magic_at, std::int8_t{3}), BatchFault::magic);
    expect_fault(altered(length_at, Int32{48}), BatchFault::length);
    expect_fault(altered(length_at, Int32{-1}), BatchFault::length);
    expect_fault(altered(length_at, std::numeric_limits<Int32>::max()), BatchFault::cut_short);
    expect_fault(altered(attributes_at, std::uint16_t{5}), BatchFault::codec);
    expect_fault(altered(attributes_at, std::uint16_t{0x20}), BatchFault::control);
    expect_fault(altered(record_count_at, Int32{0}), BatchFault::count);
    expect_fault(altered(record_count_at, Int32{-1}), BatchFault::count);
    expect_fault(altered(record_count_at, Int32{3}), BatchFault::count);
    expect_fault(altered(last_offset_delta_at, Int32{0}), BatchFault::count);
    expect_fault(altered(base_timestamp_at, Int64{-2}), BatchFault::timestamp);
    expect_fault(altered(max_timestamp_at, Int64{-2}), BatchFault::timestamp);
    EXPECT_TRUE(validate_batches(altered(base_timestamp_at, Int64{-1}), {}).ok());

    std::vector<std::byte> wrong_crc = batch_of_two();
    wrong_crc.back() ^= std::byte{1};
    expect_fault(wrong_crc, BatchFault::crc);
}

TEST(RecordBatch, OldFormatsAreNamedEvenWhenShorterThanAHeader) {
    std::vector<std::byte> old(26, std::byte{0});
    old[magic_at] = std::byte{1};
    expect_fault(old, BatchFault::magic);
}

TEST(RecordBatch, LimitsOnBatchesAndBytes) {
    std::vector<std::byte> two = batch_of_two();
    const std::size_t size = two.size();
    two.insert(two.end(), two.begin(), two.begin() + static_cast<std::ptrdiff_t>(size));
    expect_fault(two, BatchFault::batches);
    EXPECT_EQ(validate_batches(two, {.batches_max = 2})->size(), 2);
    EXPECT_TRUE(validate_batches(batch_of_two(), {.batch_bytes_max = size}).ok());
    expect_fault(batch_of_two(), BatchFault::length, {.batch_bytes_max = size - 1});
    EXPECT_TRUE(validate_batches(batch_of_two(), {.batch_records_max = 2}).ok());
    expect_fault(batch_of_two(), BatchFault::count, {.batch_records_max = 1});
}

TEST(RecordBatch, BytesAfterTheLastBatchAreRefused) {
    std::vector<std::byte> longer = batch_of_two();
    longer.push_back(std::byte{0});
    expect_fault(longer, BatchFault::cut_short, {.batches_max = 2});
}

TEST(RecordBatch, PatchingKeepsTheCrc) {
    std::vector<std::byte> batch = batch_of_two();
    patch_base_offset(batch.data(), Offset(1L << 40), 7);
    const auto headers = validate_batches(batch, {});
    ASSERT_TRUE(headers.ok());
    EXPECT_EQ(headers->at(0).base_offset, Offset(1L << 40));
    EXPECT_EQ(headers->at(0).last_offset(), Offset((1L << 40) + 1));
    EXPECT_EQ(headers->at(0).leader_epoch, 7);
}

TEST(RecordBatch, ProducersMayWriteAnyBaseOffset) {
    std::vector<std::byte> batch = batch_of_two();
    patch_base_offset(batch.data(), Offset(std::numeric_limits<std::int64_t>::max()));
    const auto headers = validate_batches(batch, {});
    ASSERT_TRUE(headers.ok());
    EXPECT_EQ(headers->at(0).last_offset(), Offset(std::numeric_limits<std::int64_t>::min()));
}

}  // namespace
}  // namespace lakestream::codec
