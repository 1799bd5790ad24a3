// SPDX-License-Identifier: Apache-2.0
// ListOffsets through real frames: every version, special timestamps, exact search by time.
#include "kafka/handlers/list_offsets.h"

#include <gtest/gtest.h>

#include "kafka/testing/broker.h"
#include "kafka/time_search.h"
#include "rt/scope.h"

namespace lakestream::kafka {
namespace {

using codec::Compression;
using codec::kafka::ListOffsetsRequest;
using codec::kafka::ListOffsetsResponse;
using testing::batch_of;
using testing::TestBroker;
using testing::TestClient;
using testing::TestRecord;
using Answer = ListOffsetsResponse::ListOffsetsPartitionResponse;

class ListOffsets : public ::testing::Test {
  protected:
    void append(std::vector<std::int64_t> times, Compression codec = Compression::none) {
        std::vector<TestRecord> records;
        for (const std::int64_t time : times) {
            records.push_back({.timestamp = time});
        }
        static_cast<void>(broker_.engine.append(
            {{.log = stream_->logs[0],
              .payload = batch_of(records, {.codec = codec}),
              .records = static_cast<std::int32_t>(times.size()),
              .max_timestamp = std::ranges::max(times)}},
            no_deadline
        ));
    }

    Answer list(std::int64_t timestamp, int version = 11, std::int32_t epoch = -1) {
        const ListOffsetsRequest request{
            .topics =
                {{.name = "events",
                  .partitions =
                      {{.partition_index = 0, .current_leader_epoch = epoch, .timestamp = timestamp}
                      }}}
        };
        return client_.call<ListOffsetsResponse>(request, version).topics.at(0).partitions.at(0);
    }

    std::pair<std::int64_t, std::int64_t> found(std::int64_t timestamp) {
        const Answer answer = list(timestamp);
        EXPECT_EQ(answer.error_code, KafkaError::none);
        return {answer.offset, answer.timestamp};
    }

    using At = std::pair<std::int64_t, std::int64_t>;

    TestBroker broker_;
    catalog::StreamPtr stream_ = broker_.catalog.add("events", 2);
    TestClient client_ = broker_.connect();
};

TEST_F(ListOffsets, ends_in_every_version) {
    append({10, 20, 30});
    append({40});
    broker_.engine.trim(stream_->logs[0], Offset(3));
    for (int version = 1; version <= 11; ++version) {
        SCOPED_TRACE(version);
        const Answer latest = list(-1, version);
        EXPECT_EQ(latest.error_code, KafkaError::none);
        EXPECT_EQ(latest.offset, 4);
        EXPECT_EQ(latest.timestamp, -1);
        EXPECT_EQ(latest.leader_epoch, version >= 4 ? 7 : -1);
        EXPECT_EQ(list(-2, version).offset, 3);
        EXPECT_EQ(list(40, version).offset, 3);
    }
}

TEST_F(ListOffsets, special_timestamps_belong_to_versions) {
    append({10, 30, 20});
    const std::pair<std::int64_t, int> since[] = {{-3, 7}, {-4, 8}, {-5, 9}, {-6, 11}};
    for (const auto& [timestamp, version] : since) {
        SCOPED_TRACE(timestamp);
        EXPECT_EQ(list(timestamp, version - 1).error_code, KafkaError::unsupported_version);
        EXPECT_EQ(list(timestamp, version).error_code, KafkaError::none);
    }
    EXPECT_EQ(list(-7).error_code, KafkaError::unsupported_version);
    EXPECT_EQ(found(-3), At(1, 30));
    EXPECT_EQ(found(-4), At(0, -1));
    EXPECT_EQ(found(-5), At(-1, -1));
    EXPECT_EQ(found(-6), At(-1, -1));
}

TEST_F(ListOffsets, an_empty_log_has_ends_and_no_times) {
    EXPECT_EQ(found(-1), At(0, -1));
    EXPECT_EQ(found(-2), At(0, -1));
    EXPECT_EQ(found(-3), At(-1, -1));
    EXPECT_EQ(found(0), At(-1, -1));
}

TEST_F(ListOffsets, search_by_time_is_exact_inside_batches_of_every_codec) {
    std::int64_t time = 0;
    for (const Compression codec :
         {Compression::none,
          Compression::gzip,
          Compression::snappy,
          Compression::lz4,
          Compression::zstd}) {
        append({time + 2, time + 4, time + 6, time + 8}, codec);
        time += 8;
    }
    for (std::int64_t asked = 0; asked <= 40; ++asked) {
        const std::int64_t offset = asked <= 2 ? 0 : (asked + 1) / 2 - 1;
        EXPECT_EQ(found(asked), At(offset, 2 * offset + 2)) << asked;
    }
    EXPECT_EQ(found(41), At(-1, -1));
}

TEST_F(ListOffsets, times_out_of_order_give_the_first_offset_that_is_late_enough) {
    append({50, 10, 20});
    append({5, 60, 60});
    EXPECT_EQ(found(15), At(0, 50));
    EXPECT_EQ(found(51), At(4, 60));
    EXPECT_EQ(found(-3), At(4, 60));  // the first of those with the largest
    append({60, 7});
    broker_.engine.compact(stream_->logs[0], 0, 3, false);
    EXPECT_EQ(found(-3), At(4, 60));
}

TEST_F(ListOffsets, search_never_goes_below_the_start_or_into_voids) {
    append({10, 20});
    append({30, 40});
    broker_.engine.add_void(stream_->logs[0], 3);
    append({50});
    broker_.engine.trim(stream_->logs[0], Offset(3));
    EXPECT_EQ(found(0), At(3, 40));
    EXPECT_EQ(found(45), At(7, 50));
}

TEST_F(ListOffsets, a_batch_too_large_to_open_is_answered_from_its_header) {
    append({10, 20});
    std::vector<TestRecord> records;
    for (const std::int64_t time : {30, 50, 40}) {
        records.push_back({.timestamp = time, .value = std::string(12 << 20, 'x')});
    }
    static_cast<void>(broker_.engine.append(
        {{.log = stream_->logs[0],
          .payload = batch_of(records, {.codec = Compression::zstd}),
          .records = 3,
          .max_timestamp = 50}},
        no_deadline
    ));
    EXPECT_EQ(found(15), At(1, 20));
    EXPECT_EQ(found(45), At(2, 50));  // its first offset: nothing later is missed
    EXPECT_EQ(found(-3), At(4, 50));  // its last, as Kafka has it for a compressed batch
}

/// Keeps work until it is told to do it.
class HeldOffloader final : public rt::Offloader {
  public:
    void run(rt::Work work) override { held.push_back(std::move(work)); }

    std::vector<rt::Work> held;
};

rt::Task<void> find_latest(TimeSearch& search, LogId log, std::int64_t expected, int& searching) {
    const auto latest = co_await search.find_latest(log, Offset(0));
    EXPECT_EQ((*latest)->timestamp, expected);
    --searching;
}

TEST_F(ListOffsets, entries_are_decoded_away_from_the_loop_one_at_a_time) {
    constexpr std::int64_t entries = 50;
    for (std::int64_t i = 0; i < entries; ++i) {
        append({100 + i});
    }
    broker_.engine.compact(stream_->logs[0], 0, entries, false);
    HeldOffloader offloader;
    TimeSearch search(broker_.engine, offloader);
    int searching = 4;
    rt::TaskScope scope(broker_.sim.executor);
    for (int i = 0; i < 4; ++i) {
        scope.spawn(find_latest(search, stream_->logs[0], 100 + entries - 1, searching));
    }
    int decoded = 0;
    broker_.sim.loop.run_for(1ms);
    while (searching > 0) {
        ASSERT_EQ(offloader.held.size(), 1U);
        std::exchange(offloader.held, {}).front()();
        ++decoded;
        broker_.sim.loop.run_for(1ms);
    }
    EXPECT_EQ(decoded, 4 * entries);
    broker_.sim.run(scope.close());
}

TEST_F(ListOffsets, search_by_time_is_exact_in_what_is_compacted) {
    append({10, 20});
    append({50, 30}, Compression::zstd);
    append({40});
    append({35, 45});
    append({44, 45}, Compression::lz4);
    append({5});
    for (const bool known : {true, false}) {
        SCOPED_TRACE(known);
        broker_.engine.compact(stream_->logs[0], 0, known ? 3 : 1, known);  // the first three
        broker_.engine.compact(stream_->logs[0], 1, known ? 2 : 1, known);  // and two more
        EXPECT_EQ(found(0), At(0, 10));
        EXPECT_EQ(found(15), At(1, 20));
        EXPECT_EQ(found(21), At(2, 50));
        EXPECT_EQ(found(50), At(2, 50));
        EXPECT_EQ(found(-3), At(2, 50));
        broker_.engine.entries_read = 0;
        EXPECT_EQ(found(51), At(-1, -1));
        EXPECT_EQ(broker_.engine.entries_read > 0, !known);
    }
    broker_.engine.trim(stream_->logs[0], Offset(5));
    EXPECT_EQ(found(45), At(6, 45));
    EXPECT_EQ(found(-3), At(6, 45));  // the first of those with the largest
}

TEST_F(ListOffsets, a_search_reads_each_stretch_once_and_can_be_stopped) {
    constexpr std::int64_t entries = 50;
    for (std::int64_t i = 0; i < entries; ++i) {
        append({100 + i});
        broker_.engine.compact(stream_->logs[0], static_cast<std::size_t>(i), 1, false);
    }
    broker_.engine.entries_read = 0;
    EXPECT_EQ(found(-3), At(entries - 1, 100 + entries - 1));
    EXPECT_LE(broker_.engine.entries_read, static_cast<std::size_t>(entries));
    HeldOffloader offloader;
    TimeSearch search(broker_.engine, offloader);
    search.stop();
    const auto stopped = broker_.sim.run(search.find_latest(stream_->logs[0], Offset(0)));
    EXPECT_TRUE(stopped.is(ErrorCode::cancelled));
}

TEST_F(ListOffsets, errors) {
    EXPECT_EQ(list(-1, 11, 6).error_code, KafkaError::fenced_leader_epoch);
    EXPECT_EQ(list(-1, 11, 8).error_code, KafkaError::unknown_leader_epoch);
    const ListOffsetsRequest request{
        .topics =
            {
                {.name = "events",
                 .partitions =
                     {{.partition_index = 0, .timestamp = -1},
                      {.partition_index = 0, .timestamp = -2},
                      {.partition_index = 2, .timestamp = -1}}},
                {.name = "other", .partitions = {{.partition_index = 0, .timestamp = -1}}},
            }
    };
    const auto response = client_.call<ListOffsetsResponse>(request, 5);
    const auto& partitions = response.topics.at(0).partitions;
    EXPECT_EQ(partitions.at(0).error_code, KafkaError::none);
    EXPECT_EQ(partitions.at(1).error_code, KafkaError::invalid_request);
    EXPECT_EQ(partitions.at(2).error_code, KafkaError::unknown_topic_or_partition);
    EXPECT_EQ(
        response.topics.at(1).partitions.at(0).error_code, KafkaError::unknown_topic_or_partition
    );
    append({10});
    broker_.engine.damage(stream_->logs[0], 0, Bytes::copy("garbage"));
    EXPECT_EQ(list(5).error_code, KafkaError::corrupt_message);
}

TEST_F(ListOffsets, many_partitions_are_searched_with_bounded_parallelism) {
    stream_ = broker_.catalog.add("events", 100);
    ListOffsetsRequest request{.topics = {{.name = "events", .partitions = {}}}};
    for (std::int32_t i = 0; i < 100; ++i) {
        request.topics[0].partitions.push_back({.partition_index = i, .timestamp = 5});
    }
    append({10});
    const auto response = client_.call<ListOffsetsResponse>(request, 7);
    EXPECT_EQ(response.topics.at(0).partitions.at(0).offset, 0);
    EXPECT_EQ(response.topics.at(0).partitions.at(99).offset, -1);
}

}  // namespace
}  // namespace lakestream::kafka
