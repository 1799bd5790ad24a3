// SPDX-License-Identifier: Apache-2.0
// Batches built from the descriptions of golden batches equal the Java client's bytes.
#include "codec/batch_builder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "codec/testing/golden.h"

namespace lakestream::codec {
namespace {

constexpr std::size_t bytes_max = 1UL << 20;

/// Keeps the strings that a record's spans point into.
class Strings {
  public:
    NullableBytes keep(const nlohmann::json& text) {
        if (text.is_null()) {
            return std::nullopt;
        }
        return std::as_bytes(std::span(kept_.emplace_back(text.get<std::string>())));
    }
    std::string_view view(const nlohmann::json& text) {
        return kept_.emplace_back(text.get<std::string>());
    }

  private:
    std::deque<std::string> kept_;
};

Bytes build(const nlohmann::json& batch, Compression codec) {
    BatchOptions options{
        .codec = codec,
        .producer_id = batch["producer_id"],
        .producer_epoch = batch["producer_epoch"],
        .base_sequence = batch["base_sequence"],
    };
    if (batch["timestamp_type"] == "LogAppendTime") {
        options.append_time = batch["max_timestamp"].get<std::int64_t>();
    }
    BatchBuilder builder(options);
    Strings strings;
    std::int64_t timestamp = 0;
    for (const auto& record : batch["records"]) {
        std::vector<RecordHeader> headers;
        for (const auto& header : record["headers"]) {
            headers.push_back({strings.view(header["key"]), strings.keep(header["value"])});
        }
        timestamp = record["timestamp"];
        builder.add(timestamp, strings.keep(record["key"]), strings.keep(record["value"]), headers);
    }
    const std::size_t size = builder.size();
    Bytes built = builder.finish();
    if (codec == Compression::none) {
        EXPECT_EQ(built.size(), size);
    }
    return built;
}

TEST(BatchBuilder, UncompressedBatchesEqualTheJavaClients) {
    int compared = 0;
    for (const auto& vector : golden_json("kafka/batches.json")) {
        // The records of an append-time batch do not tell the base timestamp it was built with.
        const auto& first = vector["batches"][0];
        if (first["compression"] != "none" || first["timestamp_type"] != "CreateTime") {
            continue;
        }
        const auto file = vector["file"].get<std::string>();
        Slices built;
        for (const auto& batch : vector["batches"]) {
            built.append(build(batch, Compression::none));
        }
        EXPECT_EQ(to_hex(built.join()), to_hex(golden_file("kafka/" + file))) << file;
        ++compared;
    }
    EXPECT_EQ(compared, 4);
}

TEST(BatchBuilder, EveryCodecGivesTheSameRecords) {
    const auto cases = golden_json("kafka/batches.json");
    const auto& batch = cases[1]["batches"][0];
    for (unsigned number = 0; number <= 4; ++number) {
        const Compression codec = *compression_from(number);
        const Bytes built = build(batch, codec);
        const auto headers = validate_batches(built.span(), {});
        ASSERT_TRUE(headers.ok()) << to_string(codec);
        EXPECT_EQ(headers->at(0).codec(), codec);
        auto reader = RecordReader::open(built, bytes_max);
        ASSERT_TRUE(reader.ok()) << to_string(codec);
        std::vector<std::int64_t> timestamps;
        for (Record record; reader->next(record);) {
            timestamps.push_back(record.timestamp);
        }
        EXPECT_TRUE(reader->status().ok()) << to_string(codec);
        EXPECT_EQ(
            timestamps, (std::vector<std::int64_t>{1782909296000, 1782909296005, 1782909296009})
        );
    }
}

TEST(BatchBuilder, AppendTimeReplacesTheRecordsTimes) {
    BatchBuilder builder({.append_time = 5000});
    builder.add(1000, std::nullopt, std::nullopt);
    builder.add(7000, std::nullopt, std::nullopt);
    auto reader = RecordReader::open(builder.finish(), bytes_max);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(reader->header().timestamp_type(), TimestampType::log_append_time);
    EXPECT_EQ(reader->header().max_timestamp, 5000);
    Record record;
    ASSERT_TRUE(reader->next(record));
    EXPECT_EQ(record.timestamp, 5000);
}

TEST(BatchBuilder, TimesMayGoBackwards) {
    BatchBuilder builder;
    builder.add(1000, std::nullopt, std::nullopt);
    builder.add(900, std::nullopt, std::nullopt);
    auto reader = RecordReader::open(builder.finish(), bytes_max);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(reader->header().max_timestamp, 1000);
    Record record;
    ASSERT_TRUE(reader->next(record));
    ASSERT_TRUE(reader->next(record));
    EXPECT_EQ(record.timestamp, 900);
}

TEST(BatchBuilder, FlagsReachTheHeader) {
    BatchBuilder builder({.producer_id = 1, .flags = 0x30});
    builder.add(0, std::nullopt, std::nullopt);
    const Bytes batch = builder.finish();
    const auto header = read_batch_header(batch.span());
    ASSERT_TRUE(header.ok());
    EXPECT_TRUE(header->is_transactional());
    EXPECT_TRUE(header->is_control());
    EXPECT_TRUE(header->has_producer());
}

TEST(EmptyBatch, HoldsItsOffsetsAndNoRecords) {
    const Bytes batch = empty_batch(Offset(100), Offset(149), 77);
    EXPECT_EQ(batch.size(), batch_header_bytes);
    auto reader = RecordReader::open(batch, bytes_max);
    ASSERT_TRUE(reader.ok());
    EXPECT_TRUE(check_batch_crc(reader->header(), batch.span()).ok());
    EXPECT_EQ(reader->header().base_offset, Offset(100));
    EXPECT_EQ(reader->header().last_offset(), Offset(149));
    EXPECT_EQ(reader->header().record_count, 0);
    EXPECT_EQ(reader->header().max_timestamp, 77);
    Record record;
    EXPECT_FALSE(reader->next(record));
    EXPECT_TRUE(reader->status().ok());

    const auto sent = validate_batches(batch.span(), {});
    ASSERT_FALSE(sent.ok()) << "producers may not send one";
    EXPECT_EQ(sent.error().reason, static_cast<std::uint16_t>(BatchFault::count));
}

}  // namespace
}  // namespace lakestream::codec
