// SPDX-License-Identifier: Apache-2.0
// DescribeCluster and DescribeTopicPartitions through real frames.
#include <gtest/gtest.h>

#include "codec/kafka/gen/describe_cluster.h"
#include "codec/kafka/gen/describe_topic_partitions.h"
#include "kafka/testing/broker.h"

namespace lakestream::kafka {
namespace {

using codec::kafka::DescribeClusterRequest;
using codec::kafka::DescribeClusterResponse;
using codec::kafka::DescribeTopicPartitionsRequest;
using codec::kafka::DescribeTopicPartitionsResponse;
using codec::kafka::Uuid;
using testing::TestBroker;
using testing::TestClient;

class Describe : public ::testing::Test {
  protected:
    DescribeTopicPartitionsResponse page(
        std::vector<std::string> names,
        std::int32_t limit = 2000,
        std::optional<DescribeTopicPartitionsRequest::Cursor> cursor = std::nullopt
    ) {
        DescribeTopicPartitionsRequest request;
        for (std::string& name : names) {
            request.topics.push_back({.name = std::move(name)});
        }
        request.response_partition_limit = limit;
        request.cursor = std::move(cursor);
        return client_.call<DescribeTopicPartitionsResponse>(request, 0);
    }

    TestBroker broker_;
    TestClient client_ = broker_.connect();
};

TEST_F(Describe, the_cluster_in_every_version) {
    for (int version = 0; version <= 2; ++version) {
        SCOPED_TRACE(version);
        const DescribeClusterRequest request{.include_cluster_authorized_operations = version > 0};
        const auto response = client_.call<DescribeClusterResponse>(request, version);
        EXPECT_EQ(response.error_code, KafkaError::none);
        EXPECT_EQ(response.cluster_id, "test-cluster");
        EXPECT_EQ(response.controller_id, 3);
        ASSERT_EQ(response.brokers.size(), 1);
        EXPECT_EQ(response.brokers[0].broker_id, 3);
        EXPECT_EQ(response.brokers[0].host, "broker");
        EXPECT_EQ(response.brokers[0].port, 9092);
        EXPECT_EQ(response.brokers[0].rack, "r1");
        EXPECT_FALSE(response.brokers[0].is_fenced);
        EXPECT_EQ(
            response.cluster_authorized_operations,
            version > 0 ? 8096 : std::numeric_limits<std::int32_t>::min()
        );
    }
    const auto code = [&](std::int8_t endpoint) {
        const DescribeClusterRequest request{.endpoint_type = endpoint};
        return client_.call<DescribeClusterResponse>(request, 1).error_code;
    };
    EXPECT_EQ(code(2), KafkaError::mismatched_endpoint_type);
    EXPECT_EQ(code(3), KafkaError::unsupported_endpoint_type);
}

TEST_F(Describe, topics_by_name_and_all_of_them) {
    const auto stream = broker_.catalog.add("b", 2);
    broker_.catalog.add("a", 1);
    const auto all = page({});
    ASSERT_EQ(all.topics.size(), 2);
    EXPECT_EQ(all.topics[0].name, "a");
    EXPECT_EQ(all.next_cursor, std::nullopt);
    const auto asked = page({"b", "none", "b", "a b"});
    ASSERT_EQ(asked.topics.size(), 3);
    EXPECT_EQ(asked.topics[0].error_code, KafkaError::invalid_topic_exception);
    EXPECT_EQ(asked.topics[1].name, "b");
    EXPECT_EQ(asked.topics[1].topic_id, Uuid{stream->incarnation});
    EXPECT_EQ(asked.topics[1].topic_authorized_operations, 3576);
    ASSERT_EQ(asked.topics[1].partitions.size(), 2);
    const auto& partition = asked.topics[1].partitions[1];
    EXPECT_EQ(partition.partition_index, 1);
    EXPECT_EQ(partition.leader_id, 3);
    EXPECT_EQ(partition.leader_epoch, 7);
    EXPECT_EQ(partition.replica_nodes, std::vector<std::int32_t>{3});
    EXPECT_EQ(partition.isr_nodes, std::vector<std::int32_t>{3});
    EXPECT_EQ(partition.eligible_leader_replicas, std::vector<std::int32_t>());
    EXPECT_EQ(asked.topics[2].error_code, KafkaError::unknown_topic_or_partition);
}

TEST_F(Describe, page_after_page_sees_every_partition_once) {
    const std::vector<std::pair<std::string, std::uint32_t>> topics{{"a", 3}, {"b", 4}, {"c", 1}};
    for (const auto& [name, partitions] : topics) {
        broker_.catalog.add(name, partitions);
    }
    for (const std::int32_t limit : {1, 2, 3, 4, 7, 8, 100}) {
        SCOPED_TRACE(limit);
        std::vector<std::pair<std::string, std::int32_t>> seen;
        std::optional<DescribeTopicPartitionsRequest::Cursor> cursor;
        int pages = 0;
        do {
            const auto response = page({}, limit, cursor);
            std::int32_t on_page = 0;
            for (const auto& topic : response.topics) {
                for (const auto& partition : topic.partitions) {
                    seen.emplace_back(*topic.name, partition.partition_index);
                    ++on_page;
                }
            }
            EXPECT_LE(on_page, limit);
            cursor.reset();
            if (response.next_cursor.has_value()) {
                cursor = {
                    .topic_name = response.next_cursor->topic_name,
                    .partition_index = response.next_cursor->partition_index
                };
            }
            ASSERT_LE(++pages, 8);
        } while (cursor.has_value());
        std::vector<std::pair<std::string, std::int32_t>> expected;
        for (const auto& [name, partitions] : topics) {
            for (std::uint32_t i = 0; i < partitions; ++i) {
                expected.emplace_back(name, i);
            }
        }
        EXPECT_EQ(seen, expected);
        EXPECT_EQ(pages, (8 + limit - 1) / limit);
    }
}

TEST_F(Describe, a_cursor_may_point_to_what_is_gone) {
    broker_.catalog.add("a", 2);
    broker_.catalog.add("c", 2);
    // Its topic was deleted: the next one. Its topic has fewer partitions now: none of it.
    EXPECT_EQ(page({}, 10, {{"b", 1}}).topics.at(0).name, "c");
    EXPECT_EQ(page({}, 10, {{"a", 9}}).topics.at(0).partitions.size(), 0);
    EXPECT_EQ(page({}, 10, {{"z", 0}}).topics.size(), 0);
    EXPECT_EQ(page({"a"}, 10, {{"a", -1}}).topics.at(0).error_code, KafkaError::invalid_request);
    EXPECT_EQ(page({}, 0).topics.at(0).partitions.size(), 1);  // at least one
}

}  // namespace
}  // namespace lakestream::kafka
