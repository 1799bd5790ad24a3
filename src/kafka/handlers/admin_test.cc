// SPDX-License-Identifier: Apache-2.0
// CreatePartitions, DescribeLogDirs, DescribeProducers, OffsetForLeaderEpoch, ListConfigResources,
// ListPartitionReassignments, ElectLeaders through real frames, in every version.
#include <gtest/gtest.h>

#include "codec/kafka/gen/create_partitions.h"
#include "codec/kafka/gen/describe_log_dirs.h"
#include "codec/kafka/gen/describe_producers.h"
#include "codec/kafka/gen/elect_leaders.h"
#include "codec/kafka/gen/list_config_resources.h"
#include "codec/kafka/gen/list_partition_reassignments.h"
#include "codec/kafka/gen/offset_for_leader_epoch.h"
#include "codec/kafka/gen/produce.h"
#include "kafka/testing/broker.h"

namespace lakestream::kafka {
namespace {

using namespace codec::kafka;
using testing::batch_of;
using testing::TestBroker;
using testing::TestClient;

using PartitionsAnswer = CreatePartitionsResponse::CreatePartitionsTopicResult;
using EpochEnd = OffsetForLeaderEpochResponse::EpochEndOffset;

constexpr std::int64_t now = 1'782'860'000'000;  // a little before the simulated clock

class Admin : public ::testing::Test {
  protected:
    PartitionsAnswer grow(
        CreatePartitionsRequest::CreatePartitionsTopic wanted,
        bool validate_only = false,
        int version = 3
    ) {
        const CreatePartitionsRequest request{
            .topics = {std::move(wanted)}, .timeout_ms = 1000, .validate_only = validate_only
        };
        return client_.call<CreatePartitionsResponse>(request, version).results.at(0);
    }

    PartitionsAnswer grow(std::string name, std::int32_t count, bool validate_only = false) {
        return grow({.name = std::move(name), .count = count, .assignments = {}}, validate_only);
    }

    std::size_t partitions(const std::string& name) {
        return broker_.sim.run(broker_.catalog.load({.ns = "default", .name = name}))
            .value()
            ->logs.size();
    }

    void produce(const std::string& topic, std::int32_t partition, Bytes records) {
        const ProduceRequest request{
            .acks = -1,
            .timeout_ms = 1000,
            .topic_data =
                {{.name = topic, .partition_data = {{.index = partition, .records = records}}}},
        };
        EXPECT_EQ(
            client_.call<ProduceResponse>(request, 9)
                .responses.at(0)
                .partition_responses.at(0)
                .error_code,
            KafkaError::none
        );
    }

    EpochEnd epoch_end(
        std::int32_t epoch, std::int32_t partition = 0, std::int32_t current = -1, int version = 4
    ) {
        OffsetForLeaderEpochRequest request;
        request.topics.push_back(
            {.topic = "events",
             .partitions =
                 {{.partition = partition, .current_leader_epoch = current, .leader_epoch = epoch}}}
        );
        return client_.call<OffsetForLeaderEpochResponse>(request, version)
            .topics.at(0)
            .partitions.at(0);
    }

    TestBroker broker_;
    TestClient client_ = broker_.connect();
};

TEST_F(Admin, partitions_are_added_in_every_version) {
    for (int version = 0; version <= 3; ++version) {
        const std::string name = fmt::format("events-{}", version);
        const auto made = broker_.catalog.add(name, 2, {{"retention.ms", "5"}});
        const auto answer = grow({.name = name, .count = 5, .assignments = {}}, false, version);
        EXPECT_EQ(answer.error_code, KafkaError::none);
        EXPECT_EQ(answer.name, name);
        EXPECT_EQ(answer.error_message, std::nullopt);
        EXPECT_EQ(partitions(name), 5);
    }
}

TEST_F(Admin, partitions_are_never_taken_away) {
    broker_.catalog.add("events", 2);
    const auto same = grow("events", 2);
    EXPECT_EQ(same.error_code, KafkaError::invalid_partitions);
    EXPECT_EQ(same.error_message, "Topic already has 2 partition(s).");
    const auto fewer = grow("events", 1);
    EXPECT_EQ(fewer.error_code, KafkaError::invalid_partitions);
    EXPECT_EQ(
        fewer.error_message,
        "The topic events currently has 2 partition(s); 1 would not be an increase."
    );
    EXPECT_EQ(grow("events", -1).error_code, KafkaError::invalid_partitions);
    EXPECT_EQ(grow("events", 1'000'000).error_code, KafkaError::invalid_partitions);
    EXPECT_EQ(grow("none", 3).error_code, KafkaError::unknown_topic_or_partition);
    EXPECT_EQ(grow("events", 3, true).error_code, KafkaError::none);
    EXPECT_EQ(partitions("events"), 2);
}

TEST_F(Admin, assignments_of_new_partitions_must_fit) {
    using Assignment = CreatePartitionsRequest::CreatePartitionsAssignment;
    broker_.catalog.add("events", 2);
    const auto code = [&](std::vector<Assignment> assignments) {
        return grow({.name = "events", .count = 4, .assignments = assignments}, true).error_code;
    };
    EXPECT_EQ(code({{{1, 2}}, {{3}}}), KafkaError::none);
    EXPECT_EQ(code({{{1}}}), KafkaError::invalid_replica_assignment);
    EXPECT_EQ(code({{{1}}, {{}}}), KafkaError::invalid_replica_assignment);
    EXPECT_EQ(code({{{1}}, {{1, 1}}}), KafkaError::invalid_replica_assignment);
    EXPECT_EQ(code({{{1}}, {{-1}}}), KafkaError::invalid_replica_assignment);
}

TEST_F(Admin, a_topic_that_is_grown_twice_at_once_is_refused) {
    broker_.catalog.add("events", 1);
    broker_.catalog.add("other", 1);
    CreatePartitionsRequest request{
        .topics =
            {{.name = "events", .count = 2, .assignments = {}},
             {.name = "other", .count = 2, .assignments = {}},
             {.name = "events", .count = 3, .assignments = {}}},
        .timeout_ms = 1000,
    };
    const auto response = client_.call<CreatePartitionsResponse>(request, 3);
    EXPECT_EQ(response.results.at(0).error_code, KafkaError::invalid_request);
    EXPECT_EQ(response.results.at(1).error_code, KafkaError::none);
    EXPECT_EQ(response.results.at(2).error_code, KafkaError::invalid_request);
    EXPECT_EQ(partitions("events"), 1);
    EXPECT_EQ(partitions("other"), 2);
}

TEST_F(Admin, log_dirs_tell_sizes_in_every_version) {
    broker_.catalog.add("events", 2);
    broker_.catalog.add("other", 1);
    const Bytes batch = batch_of({{now}});
    produce("events", 1, batch);
    produce("events", 1, batch);
    for (int version = 1; version <= 5; ++version) {
        SCOPED_TRACE(version);
        const DescribeLogDirsRequest all{.topics = std::nullopt};
        const auto response = client_.call<DescribeLogDirsResponse>(all, version);
        EXPECT_EQ(response.error_code, KafkaError::none);
        ASSERT_EQ(response.results.size(), 1);
        const auto& storage = response.results[0];
        EXPECT_EQ(storage.log_dir, "lakestream");
        ASSERT_EQ(storage.topics.size(), 2);
        EXPECT_EQ(storage.topics[0].name, "events");
        ASSERT_EQ(storage.topics[0].partitions.size(), 2);
        EXPECT_EQ(storage.topics[0].partitions[0].partition_size, 0);
        EXPECT_EQ(storage.topics[0].partitions[1].partition_index, 1);
        EXPECT_EQ(
            storage.topics[0].partitions[1].partition_size,
            static_cast<std::int64_t>(2 * batch.size())
        );
    }
    DescribeLogDirsRequest some;
    some.topics = {
        {.topic = "events", .partitions = {1, 1, 7, -1}}, {.topic = "none", .partitions = {0}}
    };
    const auto response = client_.call<DescribeLogDirsResponse>(some, 4);
    ASSERT_EQ(response.results.at(0).topics.size(), 1);
    ASSERT_EQ(response.results[0].topics[0].partitions.size(), 1);
    EXPECT_EQ(response.results[0].topics[0].partitions[0].partition_index, 1);
}

TEST_F(Admin, a_storage_that_is_known_is_the_log_dir) {
    const std::vector<BrokerConfig> settings{{.name = "storage", .value = "file:///data"}};
    TestBroker node(ServerOptions{}, 1, settings);
    TestClient client = node.connect();
    const DescribeLogDirsRequest all{.topics = std::nullopt};
    EXPECT_EQ(client.call<DescribeLogDirsResponse>(all, 5).results.at(0).log_dir, "file:///data");
}

TEST_F(Admin, producers_are_those_that_wrote) {
    broker_.catalog.add("events", 1);
    produce(
        "events",
        0,
        batch_of({{now}, {now}}, {.producer_id = 77, .producer_epoch = 4, .base_sequence = 0})
    );
    DescribeProducersRequest request;
    request.topics.push_back({.name = "events", .partition_indexes = {0, 1}});
    request.topics.push_back({.name = "none", .partition_indexes = {0}});
    const auto response = client_.call<DescribeProducersResponse>(request, 0);
    const auto& there = response.topics.at(0).partitions.at(0);
    EXPECT_EQ(there.error_code, KafkaError::none);
    ASSERT_EQ(there.active_producers.size(), 1);
    EXPECT_EQ(there.active_producers[0].producer_id, 77);
    EXPECT_EQ(there.active_producers[0].producer_epoch, 4);
    EXPECT_EQ(there.active_producers[0].last_sequence, 1);
    EXPECT_EQ(there.active_producers[0].current_txn_start_offset, -1);
    EXPECT_EQ(
        response.topics[0].partitions.at(1).error_code, KafkaError::unknown_topic_or_partition
    );
    EXPECT_EQ(
        response.topics.at(1).partitions.at(0).error_code, KafkaError::unknown_topic_or_partition
    );
}

TEST_F(Admin, an_epoch_ends_where_the_log_does) {
    const auto stream = broker_.catalog.add("events", 1);
    produce("events", 0, batch_of({{now}, {now}, {now}}));
    for (int version = 2; version <= 4; ++version) {
        for (const std::int32_t epoch : {0, 6, 7}) {
            const EpochEnd end = epoch_end(epoch, 0, 7, version);
            EXPECT_EQ(end.error_code, KafkaError::none);
            EXPECT_EQ(end.leader_epoch, 7);
            EXPECT_EQ(end.end_offset, 3);
        }
    }
    // Nothing is said of what never was; an error says neither.
    for (const EpochEnd& unknown : {epoch_end(8), epoch_end(-1)}) {
        EXPECT_EQ(unknown.error_code, KafkaError::none);
        EXPECT_EQ(unknown.leader_epoch, -1);
        EXPECT_EQ(unknown.end_offset, -1);
    }
    const EpochEnd fenced = epoch_end(7, 0, 6);
    EXPECT_EQ(fenced.error_code, KafkaError::fenced_leader_epoch);
    EXPECT_EQ(fenced.leader_epoch, -1);
    EXPECT_EQ(fenced.end_offset, -1);
    EXPECT_EQ(epoch_end(7, 0, 8).error_code, KafkaError::unknown_leader_epoch);
    EXPECT_EQ(epoch_end(7, 1).error_code, KafkaError::unknown_topic_or_partition);
    EXPECT_EQ(epoch_end(7, -1).error_code, KafkaError::unknown_topic_or_partition);
}

TEST_F(Admin, resources_with_configurations_are_listed) {
    broker_.catalog.add("events", 1);
    const auto list = [&](std::vector<std::int8_t> types, int version = 1) {
        const ListConfigResourcesRequest request{.resource_types = std::move(types)};
        return client_.call<ListConfigResourcesResponse>(request, version);
    };
    const auto all = list({});
    ASSERT_EQ(all.config_resources.size(), 2);
    EXPECT_EQ(all.config_resources[0].resource_name, "events");
    EXPECT_EQ(all.config_resources[0].resource_type, 2);
    EXPECT_EQ(all.config_resources[1].resource_name, "3");
    EXPECT_EQ(all.config_resources[1].resource_type, 4);
    EXPECT_EQ(list({4}).config_resources.size(), 1);
    EXPECT_EQ(list({16}).config_resources.size(), 0);
    EXPECT_EQ(list({99}).error_code, KafkaError::unsupported_version);
    EXPECT_EQ(list({}, 0).config_resources.size(), 0);  // client metrics
}

TEST_F(Admin, nothing_is_reassigned_and_nobody_elected) {
    broker_.catalog.add("events", 1);
    const ListPartitionReassignmentsRequest request{.timeout_ms = 1000, .topics = std::nullopt};
    const auto listed = client_.call<ListPartitionReassignmentsResponse>(request, 0);
    EXPECT_EQ(listed.error_code, KafkaError::none);
    EXPECT_EQ(listed.topics.size(), 0);
    for (int version = 0; version <= 2; ++version) {
        ElectLeadersRequest elect;
        elect.topic_partitions = {
            {.topic = "events", .partitions = {0, 1}}, {.topic = "none", .partitions = {0}}
        };
        const auto elected = client_.call<ElectLeadersResponse>(elect, version);
        const auto& results = elected.replica_election_results;
        EXPECT_EQ(results.at(0).partition_result.at(0).error_code, KafkaError::election_not_needed);
        EXPECT_EQ(
            results.at(0).partition_result.at(1).error_code, KafkaError::unknown_topic_or_partition
        );
        EXPECT_EQ(
            results.at(1).partition_result.at(0).error_code, KafkaError::unknown_topic_or_partition
        );
        elect.topic_partitions = std::nullopt;
        EXPECT_EQ(
            client_.call<ElectLeadersResponse>(elect, version).replica_election_results.size(), 0
        );
    }
}

}  // namespace
}  // namespace lakestream::kafka
