// SPDX-License-Identifier: Apache-2.0
// Fetch through real frames: every version, limits, waiting, sessions, voids, damage.
#include "kafka/handlers/fetch.h"

#include <gtest/gtest.h>

#include "codec/record_batch.h"
#include "codec/record_reader.h"
#include "kafka/testing/broker.h"

namespace lakestream::kafka {
namespace {

using codec::kafka::FetchRequest;
using codec::kafka::FetchResponse;
using testing::batch_of;
using testing::TestBroker;
using testing::TestClient;
using Partition = FetchRequest::FetchPartition;
using Answer = FetchResponse::PartitionData;

class Fetch : public ::testing::Test {
  protected:
    void append(std::size_t partition, std::string value, std::int64_t time = 1000) {
        static_cast<void>(broker_.engine.append(
            {{.log = stream_->logs[partition],
              .payload = batch_of({{time, value}, {time + 1, value}}),
              .records = 2,
              .max_timestamp = time + 1}},
            no_deadline
        ));
    }

    FetchRequest request_of(std::vector<Partition> partitions, int version = 11) const {
        FetchRequest request{.max_wait_ms = 0, .min_bytes = 1, .max_bytes = 50 << 20};
        if (!partitions.empty()) {
            request.topics.push_back({.partitions = std::move(partitions)});
            name(request.topics.back(), version);
        }
        return request;
    }

    template <class Topic>
    void name(Topic& topic, int version) const {
        if (version >= 13) {
            topic.topic_id = codec::kafka::Uuid{stream_->incarnation};
        } else {
            topic.topic = "events";
        }
    }

    FetchResponse fetch(const FetchRequest& request, int version = 11) {
        return client_.call<FetchResponse>(request, version);
    }

    Answer fetch_one(Partition partition, int version = 11) {
        const auto response = fetch(request_of({partition}, version), version);
        return response.responses.at(0).partitions.at(0);
    }

    /// Offsets of all records, as a consumer would see them.
    static std::vector<std::int64_t> offsets(const Answer& answer) {
        std::vector<std::int64_t> found;
        Bytes left = answer.records->join();
        while (!left.empty()) {
            const auto header = codec::read_batch_header(left.span());
            EXPECT_TRUE(header.ok());
            EXPECT_TRUE(codec::check_batch_crc(*header, left.span()).ok());
            EXPECT_EQ(header->leader_epoch, header->record_count == 0 ? -1 : 7);
            auto records = codec::RecordReader::open(left, 1 << 20);
            EXPECT_TRUE(records.ok());
            for (codec::Record record; records->next(record);) {
                found.push_back(header->base_offset.v + record.offset_delta);
            }
            left = left.slice(header->size(), left.size() - header->size());
        }
        return found;
    }

    static Partition at(std::int32_t partition, std::int64_t offset, std::int32_t max = 1 << 20) {
        return {.partition = partition, .fetch_offset = offset, .partition_max_bytes = max};
    }

    TestBroker broker_;
    catalog::StreamPtr stream_ = broker_.catalog.add("events", 3);
    TestClient client_ = broker_.connect();
};

TEST_F(Fetch, every_version_reads_with_offsets_in_place) {
    append(0, "a");
    append(0, "b");
    for (int version = 4; version <= 18; ++version) {
        SCOPED_TRACE(version);
        const Answer answer = fetch_one(at(0, 0), version);
        EXPECT_EQ(answer.error_code, KafkaError::none);
        EXPECT_EQ(answer.high_watermark, 4);
        EXPECT_EQ(answer.last_stable_offset, 4);
        EXPECT_FALSE(answer.aborted_transactions.has_value());
        EXPECT_EQ(offsets(answer), (std::vector<std::int64_t>{0, 1, 2, 3}));
        // The whole batch comes back when the offset is inside it.
        EXPECT_EQ(offsets(fetch_one(at(0, 3), version)), (std::vector<std::int64_t>{2, 3}));
    }
}

TEST_F(Fetch, read_committed_gets_an_empty_list_of_aborted_transactions) {
    FetchRequest request = request_of({at(0, 0)});
    request.isolation_level = 1;
    const auto response = fetch(request);
    const Answer& answer = response.responses.at(0).partitions.at(0);
    EXPECT_TRUE(answer.aborted_transactions.has_value());
    EXPECT_TRUE(answer.aborted_transactions->empty());
    EXPECT_TRUE(answer.records->empty());
}

TEST_F(Fetch, errors_of_a_partition) {
    append(0, "a");
    append(0, "b");
    broker_.engine.trim(stream_->logs[0], Offset(2));
    const auto code = [&](Partition partition) { return fetch_one(partition).error_code; };
    EXPECT_EQ(code(at(0, 1)), KafkaError::offset_out_of_range);
    EXPECT_EQ(code(at(0, 5)), KafkaError::offset_out_of_range);
    EXPECT_EQ(code(at(0, -1)), KafkaError::offset_out_of_range);
    EXPECT_EQ(code(at(0, 4)), KafkaError::none);
    EXPECT_EQ(code(at(3, 0)), KafkaError::unknown_topic_or_partition);
    Partition stale = at(0, 4);
    stale.current_leader_epoch = 6;
    EXPECT_EQ(code(stale), KafkaError::fenced_leader_epoch);
    stale.current_leader_epoch = 8;
    EXPECT_EQ(code(stale), KafkaError::unknown_leader_epoch);
    stale.current_leader_epoch = 7;
    EXPECT_EQ(code(stale), KafkaError::none);
    FetchRequest request = request_of({at(0, 0)}, 13);
    request.topics[0].topic_id.bytes[0] = std::byte{1};
    EXPECT_EQ(
        fetch(request, 13).responses.at(0).partitions.at(0).error_code, KafkaError::unknown_topic_id
    );
    broker_.engine.read_error = corrupt("object x is missing");
    const Answer answer = fetch_one(at(0, 4));
    EXPECT_EQ(answer.error_code, KafkaError::corrupt_message);
    EXPECT_EQ(answer.high_watermark, -1);
}

TEST_F(Fetch, damaged_entries_are_an_error_and_others_are_served) {
    append(0, "a");
    append(1, "b");
    broker_.engine.damage(stream_->logs[0], 0, Bytes::copy("garbage"));
    const auto response = fetch(request_of({at(0, 0), at(1, 0)}));
    const auto& partitions = response.responses.at(0).partitions;
    EXPECT_EQ(partitions.at(0).error_code, KafkaError::corrupt_message);
    EXPECT_EQ(offsets(partitions.at(1)), (std::vector<std::int64_t>{0, 1}));
}

TEST_F(Fetch, a_void_is_an_empty_batch_up_to_its_end) {
    append(0, "a");
    broker_.engine.add_void(stream_->logs[0], 5);
    const Answer answer = fetch_one(at(0, 2));
    const auto header = codec::read_batch_header(answer.records->join().span());
    ASSERT_TRUE(header.ok());
    EXPECT_EQ(header->record_count, 0);
    EXPECT_EQ(header->last_offset(), Offset(6));
    EXPECT_TRUE(codec::check_batch_crc(*header, answer.records->join().span()).ok());
    append(0, "b");
    EXPECT_EQ(offsets(fetch_one(at(0, 0))), (std::vector<std::int64_t>{0, 1, 7, 8}));
}

TEST_F(Fetch, the_request_limit_holds_over_all_partitions) {
    for (int i = 0; i < 10; ++i) {
        append(0, std::string(1000, 'x'));
        append(1, std::string(1000, 'x'));
    }
    FetchRequest request = request_of({at(0, 0), at(1, 0)});
    request.max_bytes = 9000;  // an entry is a little more than 2000
    auto response = fetch(request);
    std::size_t bytes = 0;
    for (const Answer& answer : response.responses.at(0).partitions) {
        bytes += answer.records->size();
    }
    EXPECT_LE(bytes, 9000);
    EXPECT_GT(bytes, 6000);
    EXPECT_LE(broker_.engine.read_bytes_last, 9000);
}

TEST_F(Fetch, the_first_batch_comes_however_large_and_only_the_first) {
    append(0, std::string(10'000, 'x'));
    append(1, std::string(10'000, 'x'));
    FetchRequest request = request_of({at(2, 0), at(0, 0, 100), at(1, 0, 100)});
    request.max_bytes = 1;
    const auto response = fetch(request);
    const auto& partitions = response.responses.at(0).partitions;
    EXPECT_TRUE(partitions.at(0).records->empty());
    EXPECT_EQ(offsets(partitions.at(1)).size(), 2);
    EXPECT_TRUE(partitions.at(2).records->empty());
}

TEST_F(Fetch, partitions_without_room_say_where_they_end_and_what_is_wrong) {
    append(0, std::string(1000, 'x'));
    append(1, "b");
    append(1, "c");
    FetchRequest request = request_of({at(0, 0), at(1, 0), at(2, 7)});
    request.max_bytes = 100;
    const auto response = fetch(request);
    const auto& partitions = response.responses.at(0).partitions;
    EXPECT_EQ(offsets(partitions.at(0)).size(), 2);
    EXPECT_TRUE(partitions.at(1).records->empty());
    EXPECT_EQ(partitions.at(1).high_watermark, 4);
    EXPECT_EQ(partitions.at(1).last_stable_offset, 4);
    EXPECT_EQ(partitions.at(1).log_start_offset, 0);
    EXPECT_EQ(partitions.at(2).error_code, KafkaError::offset_out_of_range);
}

TEST_F(Fetch, a_partition_limit_is_kept) {
    for (int i = 0; i < 10; ++i) {
        append(0, std::string(1000, 'x'));
    }
    EXPECT_EQ(offsets(fetch_one(at(0, 0, 5000))).size(), 4);
    broker_.engine.entries_per_read_max = 1;  // an engine that gives less than it has
    FetchRequest request = request_of({at(0, 0)});
    request.min_bytes = 10'000;
    request.max_wait_ms = 1000;
    EXPECT_GE(offsets(fetch(request).responses.at(0).partitions.at(0)).size(), 8);
}

TEST_F(Fetch, waits_for_an_append_or_its_time) {
    FetchRequest request = request_of({at(0, 0), at(1, 0)});
    request.max_wait_ms = 500;
    const MonoTime before = broker_.sim.executor.now();
    const auto empty = fetch(request);
    EXPECT_GE(broker_.sim.executor.now() - before, 500ms);
    EXPECT_TRUE(empty.responses.at(0).partitions.at(0).records->empty());

    request.max_wait_ms = 60'000;
    const std::int32_t id = client_.send(request, 11);
    broker_.sim.loop.run_for(3s);
    append(1, "late");
    const MonoTime appended = broker_.sim.executor.now();
    const auto response = client_.receive<FetchResponse>(id, 11);
    EXPECT_LT(broker_.sim.executor.now() - appended, 1s);
    EXPECT_EQ(offsets(response.responses.at(0).partitions.at(1)).size(), 2);
}

TEST_F(Fetch, waits_for_min_bytes) {
    FetchRequest request = request_of({at(0, 0)});
    request.max_wait_ms = 60'000;
    request.min_bytes = 5000;
    const std::int32_t id = client_.send(request, 11);
    for (int i = 0; i < 3; ++i) {
        broker_.sim.loop.run_for(1s);
        append(0, std::string(1000, 'x'));
    }
    const MonoTime appended = broker_.sim.executor.now();
    EXPECT_EQ(
        offsets(client_.receive<FetchResponse>(id, 11).responses.at(0).partitions.at(0)).size(), 6
    );
    EXPECT_LT(broker_.sim.executor.now() - appended, 1s);
}

TEST_F(Fetch, does_not_spin_when_its_own_limit_is_reached_below_min_bytes) {
    append(0, std::string(1000, 'x'));
    append(0, std::string(1000, 'x'));
    FetchRequest request = request_of({at(0, 0, 2500)});
    request.max_wait_ms = 1000;
    request.min_bytes = 5000;
    const std::uint64_t before = broker_.sim.loop.steps();
    EXPECT_EQ(offsets(fetch(request).responses.at(0).partitions.at(0)).size(), 2);
    EXPECT_LT(broker_.sim.loop.steps() - before, 1000);
}

TEST_F(Fetch, an_incremental_session_sends_only_changes) {
    FetchRequest request = request_of({at(0, 0), at(1, 0)}, 13);
    request.session_epoch = 0;
    const auto full = fetch(request, 13);
    EXPECT_NE(full.session_id, 0);
    EXPECT_EQ(full.responses.at(0).partitions.size(), 2);

    FetchRequest next = request_of({});
    next.session_id = full.session_id;
    next.session_epoch = 1;
    const auto nothing = fetch(next, 13);
    EXPECT_EQ(nothing.error_code, KafkaError::none);
    EXPECT_EQ(nothing.session_id, full.session_id);
    EXPECT_TRUE(nothing.responses.empty());

    append(1, "x");
    next.session_epoch = 2;
    const auto changed = fetch(next, 13);
    ASSERT_EQ(changed.responses.size(), 1);
    EXPECT_EQ(changed.responses[0].topic_id, codec::kafka::Uuid{stream_->incarnation});
    ASSERT_EQ(changed.responses[0].partitions.size(), 1);
    EXPECT_EQ(changed.responses[0].partitions[0].partition_index, 1);

    // Read on in 1, forget 0, add 2.
    next.session_epoch = 3;
    next.topics = request_of({at(1, 2), at(2, 0)}, 13).topics;
    next.forgotten_topics_data.push_back({.partitions = {0}});
    name(next.forgotten_topics_data.back(), 13);
    append(0, "y");
    const auto added = fetch(next, 13);
    ASSERT_EQ(added.responses.size(), 1);
    ASSERT_EQ(added.responses[0].partitions.size(), 1);
    EXPECT_EQ(added.responses[0].partitions[0].partition_index, 2);  // new: always sent once

    EXPECT_EQ(fetch(next, 13).error_code, KafkaError::invalid_fetch_session_epoch);
    next.session_id ^= 1;
    EXPECT_EQ(fetch(next, 13).error_code, KafkaError::fetch_session_id_not_found);
}

TEST_F(Fetch, many_partitions_do_not_read_beyond_the_limit_together) {
    stream_ = broker_.catalog.add("events", 300);
    std::vector<Partition> partitions;
    for (std::int32_t i = 0; i < 300; ++i) {
        append(static_cast<std::size_t>(i), std::string(5000, 'x'));
        partitions.push_back(at(i, 0));
    }
    FetchRequest request = request_of(partitions);
    request.max_bytes = 100'000;
    const auto response = fetch(request);
    std::size_t bytes = 0;
    for (const Answer& answer : response.responses.at(0).partitions) {
        bytes += answer.records->size();
    }
    EXPECT_LE(bytes, 100'000);
    EXPECT_GE(bytes, 80'000);
    EXPECT_LE(broker_.engine.read_bytes_last, 110'000);
}

}  // namespace
}  // namespace lakestream::kafka
