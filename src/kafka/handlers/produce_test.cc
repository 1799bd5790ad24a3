// SPDX-License-Identifier: Apache-2.0
// Produce through real frames: every version, every refusal, order, acks, time-outs.
#include "kafka/handlers/produce.h"

#include <gtest/gtest.h>

#include "base/endian.h"
#include "codec/crc32c.h"
#include "codec/record_reader.h"
#include "kafka/testing/broker.h"

namespace lakestream::kafka {
namespace {

using codec::kafka::ProduceRequest;
using codec::kafka::ProduceResponse;
using testing::batch_of;
using testing::TestBroker;
using testing::TestClient;
using Answer = ProduceResponse::PartitionProduceResponse;

constexpr std::int64_t now = 1'782'860'000'000;  // a little before the simulated clock

struct Ask {
    std::string topic = "events";
    codec::kafka::Uuid topic_id;
    std::int32_t partition = 0;
    std::int16_t acks = -1;
    std::int32_t timeout_ms = 30'000;
};

ProduceRequest request_of(std::optional<Bytes> records, const Ask& ask = {}) {
    return ProduceRequest{
        .acks = ask.acks,
        .timeout_ms = ask.timeout_ms,
        .topic_data =
            {{.name = ask.topic,
              .topic_id = ask.topic_id,
              .partition_data = {{.index = ask.partition, .records = std::move(records)}}}},
    };
}

class Produce : public ::testing::Test {
  protected:
    Answer produce(std::optional<Bytes> records, int version = 9, const Ask& ask = {}) {
        const auto response =
            client_.call<ProduceResponse>(request_of(std::move(records), ask), version);
        return response.responses.at(0).partition_responses.at(0);
    }

    KafkaError code(const Bytes& records, int version = 9) {
        return produce(records, version).error_code;
    }

    static Bytes changed(const Bytes& batch, std::size_t at, std::byte value) {
        std::vector<std::byte> bytes(batch.begin(), batch.end());
        bytes[at] = value;
        return Bytes::own(std::move(bytes));
    }

    TestBroker broker_;
    catalog::StreamPtr stream_ = broker_.catalog.add("events", 4);
    TestClient client_ = broker_.connect();
};

TEST_F(Produce, every_version_stores_the_bytes_and_answers_the_offset) {
    for (int version = 3; version <= 13; ++version) {
        SCOPED_TRACE(version);
        const Bytes batch = batch_of({{now, "a"}, {now + 1, "b"}});
        Ask ask{.partition = 1};
        if (version >= 13) {
            ask.topic.clear();
            ask.topic_id = codec::kafka::Uuid{stream_->incarnation};
        }
        const Answer answer = produce(batch, version, ask);
        EXPECT_EQ(answer.error_code, KafkaError::none);
        EXPECT_EQ(answer.index, 1);
        EXPECT_EQ(answer.base_offset, 2 * (version - 3));
        EXPECT_EQ(answer.log_append_time_ms, -1);
        const log::AppendRequest& entry = broker_.engine.appended.back();
        EXPECT_EQ(entry.payload, batch);
        EXPECT_EQ(entry.records, 2);
        EXPECT_EQ(entry.max_timestamp, now + 1);
        EXPECT_EQ(entry.log, stream_->logs[1]);
        EXPECT_FALSE(entry.producer.has_value());
        EXPECT_TRUE(entry.arrived.has_value());
        EXPECT_TRUE(entry.checked.has_value());
    }
}

TEST_F(Produce, a_topic_with_a_codec_gets_its_batches_in_it) {
    constexpr codec::Compression codecs[] = {
        codec::Compression::none,
        codec::Compression::gzip,
        codec::Compression::snappy,
        codec::Compression::lz4,
        codec::Compression::zstd,
    };
    for (const codec::Compression wanted : codecs) {
        const std::string type = wanted == codec::Compression::none
                                     ? "uncompressed"
                                     : std::string(codec::to_string(wanted));
        broker_.catalog.add(type, 1, {{"compression.type", type}});
        for (const codec::Compression sent : codecs) {
            SCOPED_TRACE(fmt::format("{} to {}", codec::to_string(sent), type));
            const Bytes batch = batch_of({{now, std::string(5000, 'a')}, {now}}, {.codec = sent});
            EXPECT_EQ(produce(batch, 9, {.topic = type}).error_code, KafkaError::none);
            const log::AppendRequest& entry = broker_.engine.appended.back();
            EXPECT_EQ(entry.payload == batch, sent == wanted);
            EXPECT_EQ(entry.records, 2);
            const auto headers = codec::validate_batches(entry.payload.span(), {});
            ASSERT_TRUE(headers.ok()) << headers.error().to_string();
            EXPECT_EQ(headers->front().codec(), wanted);
            auto records = codec::RecordReader::open(entry.payload, 10'000);
            codec::Record record;
            ASSERT_TRUE(records->next(record));
            EXPECT_EQ(record.value->size(), 5000);
        }
    }
}

TEST_F(Produce, what_cannot_be_compressed_again_is_refused) {
    broker_.catalog.add("plain", 1, {{"compression.type", "uncompressed"}});
    broker_.catalog.add(
        "small", 1, {{"compression.type", "zstd"}, {"max.decompressed.message.bytes", "1000"}}
    );
    const auto packed = [](std::size_t bytes) {
        return batch_of({{now, std::string(bytes, 'a')}}, {.codec = codec::Compression::gzip});
    };
    EXPECT_EQ(
        produce(packed(1 << 21), 9, {.topic = "plain"}).error_code, KafkaError::message_too_large
    );
    EXPECT_EQ(
        produce(packed(64 << 20), 9, {.topic = "plain"}).error_code, KafkaError::message_too_large
    );
    EXPECT_EQ(
        produce(packed(5000), 9, {.topic = "small"}).error_code, KafkaError::message_too_large
    );
    EXPECT_EQ(produce(packed(500), 9, {.topic = "small"}).error_code, KafkaError::none);
    // A batch whose records are no records, under a CRC that is right.
    const Bytes whole = packed(100);
    std::vector<std::byte> broken(whole.begin(), whole.end());
    for (std::size_t i = codec::batch_header_bytes; i < broken.size(); ++i) {
        broken[i] = std::byte{0xff};
    }
    codec::stamp_append_time(broken, now);  // gives it its CRC
    const Bytes wrong = changed(Bytes::own(std::move(broken)), 22, std::byte{1});
    std::vector<std::byte> bytes(wrong.begin(), wrong.end());
    store_be(bytes.data() + 17, codec::crc32c(std::span(bytes).subspan(21)));
    EXPECT_EQ(
        produce(Bytes::own(std::move(bytes)), 9, {.topic = "plain"}).error_code,
        KafkaError::invalid_record
    );
    // Nothing of all that is still held.
    EXPECT_EQ(produce(packed(1000), 9, {.topic = "plain"}).error_code, KafkaError::none);
}

TEST_F(Produce, requests_keep_their_order_while_batches_are_compressed_again) {
    broker_.catalog.add("slow", 1, {{"compression.type", "zstd"}});
    std::vector<std::int32_t> sent;
    for (int i = 0; i < 5; ++i) {
        const Bytes batch = batch_of({{now + i}});
        const Ask ask{.topic = i % 2 == 0 ? "slow" : "events"};
        sent.push_back(client_.send(request_of(batch, ask), 9));
    }
    for (const std::int32_t id : sent) {
        const auto response = client_.receive<ProduceResponse>(id, 9);
        EXPECT_EQ(response.responses.at(0).partition_responses.at(0).error_code, KafkaError::none);
    }
    ASSERT_EQ(broker_.engine.appended.size(), 5);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(broker_.engine.appended[static_cast<std::size_t>(i)].max_timestamp, now + i);
    }
}

TEST_F(Produce, a_topic_with_append_time_gives_records_the_time_of_the_broker) {
    broker_.catalog.add("stamped", 1, {{"message.timestamp.type", "LogAppendTime"}});
    const std::int64_t begun = to_ms(broker_.sim.clock.wall_now());
    const Bytes batch = batch_of(
        {{5, "a"}, {now + 86'400'000 * 3, "b"}},
        {.producer_id = 9, .producer_epoch = 0, .base_sequence = 0}
    );
    const Answer answer = produce(batch, 9, {.topic = "stamped"});
    EXPECT_EQ(answer.error_code, KafkaError::none);  // of any age
    EXPECT_GE(answer.log_append_time_ms, begun);
    EXPECT_LT(answer.log_append_time_ms, begun + 60'000);
    const log::AppendRequest& entry = broker_.engine.appended.back();
    EXPECT_EQ(entry.max_timestamp, answer.log_append_time_ms);
    const auto headers = codec::validate_batches(entry.payload.span(), {});  // also its CRC
    ASSERT_TRUE(headers.ok()) << headers.error().to_string();
    EXPECT_EQ(headers->front().timestamp_type(), codec::TimestampType::log_append_time);
    EXPECT_EQ(headers->front().max_timestamp, answer.log_append_time_ms);
    EXPECT_EQ(headers->front().producer_id, 9);
    auto records = codec::RecordReader::open(entry.payload, 1000);
    for (codec::Record record; records->next(record);) {
        EXPECT_EQ(record.timestamp, answer.log_append_time_ms);
    }
    EXPECT_TRUE(records->status().ok());
    // Sent again, later: what the first copy was given.
    broker_.sim.run([](rt::SimTest& sim) -> rt::Task<bool> {
        co_await rt::sleep_until(sim.executor.now() + 5s);
        co_return true;
    }(broker_.sim));
    const Answer again = produce(batch, 9, {.topic = "stamped"});
    EXPECT_EQ(again.base_offset, answer.base_offset);
    EXPECT_EQ(again.log_append_time_ms, answer.log_append_time_ms);
}

TEST_F(Produce, unknown_topics_partitions_and_ids) {
    const Bytes batch = batch_of({{now}});
    EXPECT_EQ(
        produce(batch, 9, {.topic = "other"}).error_code, KafkaError::unknown_topic_or_partition
    );
    EXPECT_EQ(
        produce(batch, 9, {.partition = 4}).error_code, KafkaError::unknown_topic_or_partition
    );
    EXPECT_EQ(
        produce(batch, 9, {.partition = -1}).error_code, KafkaError::unknown_topic_or_partition
    );
    codec::kafka::Uuid other{stream_->incarnation};
    other.bytes[0] = std::byte{9};
    const Answer answer = produce(batch, 13, {.topic = "", .topic_id = other});
    EXPECT_EQ(answer.error_code, KafkaError::unknown_topic_id);
    EXPECT_EQ(answer.base_offset, -1);
    EXPECT_TRUE(broker_.engine.appended.empty());
}

TEST_F(Produce, refuses_what_kafka_refuses) {
    const Bytes good = batch_of({{now, "hello"}});
    EXPECT_EQ(produce(std::nullopt).error_code, KafkaError::invalid_record);
    EXPECT_EQ(code(Bytes()), KafkaError::invalid_record);
    EXPECT_EQ(code(changed(good, 68, std::byte{0})), KafkaError::corrupt_message);
    EXPECT_EQ(code(good.slice(0, good.size() - 1)), KafkaError::corrupt_message);
    EXPECT_EQ(code(changed(good, 16, std::byte{1})), KafkaError::unsupported_for_message_format);
    EXPECT_EQ(code(changed(good, 16, std::byte{0})), KafkaError::unsupported_for_message_format);
    EXPECT_EQ(code(changed(good, 7, std::byte{1})), KafkaError::invalid_record);  // base offset
    Slices two(good);
    two.append(good);
    EXPECT_EQ(code(two.join()), KafkaError::invalid_record);
    EXPECT_EQ(code(batch_of({{now}}, {.flags = 0x20})), KafkaError::invalid_record);
    EXPECT_EQ(code(batch_of({{now}}, {.flags = 0x10})), KafkaError::invalid_request);
    EXPECT_EQ(code(batch_of({{now}}, {.append_time = now})), KafkaError::invalid_timestamp);
    EXPECT_EQ(code(batch_of({{now + 86'400'000 * 2}})), KafkaError::invalid_timestamp);
    EXPECT_EQ(code(batch_of({{now}}, {.producer_id = 1})), KafkaError::invalid_record);
    EXPECT_TRUE(broker_.engine.appended.empty());
    EXPECT_EQ(code(good), KafkaError::none);
}

/// A batch whose header and CRC are right, around any records.
Bytes batch_around(std::initializer_list<int> records, std::int32_t count, int attributes = 0) {
    const Bytes model = batch_of({{now}});
    std::vector<std::byte> batch(model.begin(), model.begin() + codec::batch_header_bytes);
    for (const int byte : records) {
        batch.push_back(static_cast<std::byte>(byte));
    }
    store_be(batch.data() + 8, static_cast<std::int32_t>(batch.size() - codec::batch_prefix_bytes));
    store_be(batch.data() + 21, static_cast<std::int16_t>(attributes));
    store_be(batch.data() + 23, count - 1);
    store_be(batch.data() + 57, count);
    store_be(batch.data() + 17, codec::crc32c(std::span(batch).subspan(21)));
    return Bytes::own(std::move(batch));
}

TEST_F(Produce, refuses_records_that_are_malformed_under_a_right_checksum) {
    // length 6: attributes, timestamp delta, offset delta, null key, null value, no headers
    EXPECT_EQ(code(batch_around({12, 0, 0, 0, 1, 1, 0}, 1)), KafkaError::none);
    EXPECT_EQ(
        code(batch_around({12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 2, 1, 1, 0}, 2)), KafkaError::none
    );
    const struct {
        const char* what;
        std::initializer_list<int> records;
        std::int32_t count = 1;
    } cases[] = {
        {"nothing", {}},
        {"garbage", {0x66, 0x6f, 0x6f, 0x62, 0x61, 0x72, 0xff, 0xff}},
        {"fewer than said", {12, 0, 0, 0, 1, 1, 0}, 2},
        {"more than said", {12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 2, 1, 1, 0}, 1},
        {"the first offset is not 0", {12, 0, 0, 2, 1, 1, 0}},
        {"an offset twice", {12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 0, 1, 1, 0}, 2},
        {"offsets out of order", {12, 0, 0, 2, 1, 1, 0, 12, 0, 0, 0, 1, 1, 0}, 2},
        {"a null header key", {16, 0, 0, 0, 1, 1, 2, 1, 1}},
        {"a record length that lies", {14, 0, 0, 0, 1, 1, 0, 0}},
        {"a value longer than the batch", {12, 0, 0, 0, 1, 100, 0}},
        {"two billion headers", {20, 0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f}},
    };
    const std::size_t stored = broker_.engine.appended.size();
    for (const auto& malformed : cases) {
        EXPECT_EQ(
            code(batch_around(malformed.records, malformed.count)), KafkaError::invalid_record
        ) << malformed.what;
    }
    EXPECT_EQ(broker_.engine.appended.size(), stored);
    // Nothing is decompressed.
    EXPECT_EQ(code(batch_around({1, 2, 3}, 1, 1)), KafkaError::none);
}

TEST_F(Produce, zstd_needs_version_7) {
    const Bytes batch = batch_of({{now}}, {.codec = codec::Compression::zstd});
    EXPECT_EQ(code(batch, 6), KafkaError::unsupported_compression_type);
    EXPECT_EQ(code(batch, 7), KafkaError::none);
}

TEST_F(Produce, message_too_large_by_the_topic_or_the_default) {
    broker_.catalog.add("narrow", 1, {{"max.message.bytes", "100"}});
    const Bytes batch = batch_of({{now, std::string(200, 'x')}});
    const Answer answer = produce(batch, 9, {.topic = "narrow"});
    EXPECT_EQ(answer.error_code, KafkaError::message_too_large);
    EXPECT_NE(answer.error_message->find("max.message.bytes"), std::string::npos);
    EXPECT_EQ(code(batch_of({{now, std::string(1'048'588, 'x')}})), KafkaError::message_too_large);
}

TEST_F(Produce, acks_and_transactions) {
    const Bytes batch = batch_of({{now}});
    EXPECT_EQ(produce(batch, 9, {.acks = 2}).error_code, KafkaError::invalid_required_acks);
    EXPECT_EQ(produce(batch, 9, {.acks = 1}).error_code, KafkaError::none);
    ProduceRequest request = request_of(batch);
    request.transactional_id = "t";
    const auto response = client_.call<ProduceResponse>(request, 9);
    EXPECT_EQ(
        response.responses.at(0).partition_responses.at(0).error_code, KafkaError::invalid_request
    );
}

TEST_F(Produce, acks_0_is_not_answered_and_does_not_hold_up_others) {
    broker_.engine.hold_appends = true;
    client_.send(request_of(batch_of({{now}}), {.acks = 0}), 9);
    broker_.sim.loop.run_for(1s);
    broker_.engine.hold_appends = false;
    EXPECT_EQ(produce(batch_of({{now}})).base_offset, 1);
    EXPECT_EQ(broker_.engine.held(), 1);
    broker_.engine.release();
}

TEST_F(Produce, acks_0_hangs_up_on_an_error) {
    client_.send(request_of(batch_of({{now}}), {.topic = "other", .acks = 0}), 9);
    EXPECT_TRUE(client_.hung_up());
}

TEST_F(Produce, idempotent_producers_get_kafkas_answers) {
    const auto batch = [](std::int32_t sequence, std::int16_t epoch = 2) {
        return batch_of(
            {{now}}, {.producer_id = 77, .producer_epoch = epoch, .base_sequence = sequence}
        );
    };
    EXPECT_EQ(code(batch(5)), KafkaError::unknown_producer_id);
    EXPECT_EQ(code(batch(0)), KafkaError::none);
    EXPECT_EQ(
        broker_.engine.appended.back().producer,
        (log::ProducerStamp{.id = 77, .epoch = 2, .base_sequence = 0})
    );
    EXPECT_EQ(produce(batch(1)).base_offset, 1);
    const Answer duplicate = produce(batch(0));
    EXPECT_EQ(duplicate.error_code, KafkaError::none);
    EXPECT_EQ(duplicate.base_offset, 0);
    EXPECT_EQ(code(batch(7)), KafkaError::out_of_order_sequence_number);
    EXPECT_EQ(code(batch(2, 1)), KafkaError::invalid_producer_epoch);
}

TEST_F(Produce, errors_of_the_engine_become_codes_that_keep_the_sequence) {
    const Bytes batch = batch_of({{now}});
    broker_.engine.append_error = throttled("full");
    EXPECT_EQ(code(batch), KafkaError::not_enough_replicas);
    broker_.engine.append_error = outcome_unknown("lost");
    EXPECT_EQ(code(batch), KafkaError::request_timed_out);
    broker_.engine.append_error = deadline_exceeded("late");
    EXPECT_EQ(code(batch), KafkaError::request_timed_out);
    broker_.engine.append_error = fenced("deleted");
    EXPECT_EQ(code(batch), KafkaError::unknown_topic_or_partition);
    for (const KafkaError error :
         {KafkaError::not_enough_replicas, KafkaError::request_timed_out}) {
        EXPECT_TRUE(codec::kafka::is_retriable(error));
    }
}

TEST_F(Produce, the_clients_time_out_becomes_the_deadline_within_bounds) {
    const auto patience = [&](std::int32_t timeout_ms) {
        const MonoTime before = broker_.sim.executor.now();
        produce(batch_of({{now}}), 9, {.timeout_ms = timeout_ms});
        return broker_.engine.append_deadline - before;
    };
    EXPECT_LT(patience(0), 2s);
    EXPECT_GE(patience(0), 1s);
    EXPECT_GE(patience(5000), 5s);
    EXPECT_LT(patience(5000), 6s);
    EXPECT_LT(patience(2'000'000'000), 61s);
}

TEST_F(Produce, entries_keep_the_order_of_requests) {
    broker_.engine.hold_appends = true;
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 20; ++i) {
        ids.push_back(client_.send(request_of(batch_of({{now, std::to_string(i)}})), 9));
    }
    broker_.sim.loop.run_for(1s);
    EXPECT_EQ(broker_.engine.held(), 20);  // all of them begun before any was answered
    broker_.engine.release();
    for (int i = 0; i < 20; ++i) {
        const auto response = client_.receive<ProduceResponse>(ids[static_cast<std::size_t>(i)], 9);
        EXPECT_EQ(response.responses.at(0).partition_responses.at(0).base_offset, i);
    }
}

TEST_F(Produce, a_large_payload_is_the_memory_it_was_read_into_and_a_small_one_is_its_own) {
    ProduceRequest request = request_of(batch_of({{now, std::string(900'000, 'x')}}));
    request.topic_data[0].partition_data.push_back({.index = 1, .records = batch_of({{now}})});
    client_.call<ProduceResponse>(request, 9);
    const Bytes& large = broker_.engine.appended.at(0).payload;
    const Bytes& small = broker_.engine.appended.at(1).payload;
    EXPECT_EQ(large.size(), request.topic_data[0].partition_data[0].records->size());
    const auto distance = small.data() - (large.data() + large.size());
    EXPECT_TRUE(distance < 0 || distance > 100);  // not behind it in the same frame
}

}  // namespace
}  // namespace lakestream::kafka
