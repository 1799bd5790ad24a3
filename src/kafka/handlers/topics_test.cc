// SPDX-License-Identifier: Apache-2.0
// Metadata, CreateTopics, DeleteTopics through real frames, in every version.
#include <gtest/gtest.h>

#include "codec/kafka/gen/create_topics.h"
#include "codec/kafka/gen/delete_topics.h"
#include "codec/kafka/gen/metadata.h"
#include "kafka/testing/broker.h"

namespace lakestream::kafka {
namespace {

using codec::kafka::CreateTopicsRequest;
using codec::kafka::CreateTopicsResponse;
using codec::kafka::DeleteTopicsRequest;
using codec::kafka::DeleteTopicsResponse;
using codec::kafka::MetadataRequest;
using codec::kafka::MetadataResponse;
using codec::kafka::Uuid;
using testing::TestBroker;
using testing::TestClient;

class Topics : public ::testing::Test {
  protected:
    MetadataResponse metadata(std::vector<std::string> names, int version = 9, bool create = true) {
        MetadataRequest request{.allow_auto_topic_creation = create};
        for (std::string& name : names) {
            request.topics->push_back({.name = std::move(name)});
        }
        return client_.call<MetadataResponse>(request, version);
    }

    CreateTopicsResponse::CreatableTopicResult create(
        CreateTopicsRequest::CreatableTopic topic, int version = 7, bool validate_only = false
    ) {
        const CreateTopicsRequest request{
            .topics = {std::move(topic)}, .validate_only = validate_only
        };
        return client_.call<CreateTopicsResponse>(request, version).topics.at(0);
    }

    KafkaError code(CreateTopicsRequest::CreatableTopic topic) {
        return create(std::move(topic)).error_code;
    }

    static CreateTopicsRequest::CreatableTopic topic(
        std::string name, std::int32_t partitions = 1, std::int16_t replicas = 1
    ) {
        return {
            .name = std::move(name),
            .num_partitions = partitions,
            .replication_factor = replicas,
            .assignments = {},
            .configs = {},
        };
    }

    TestBroker broker_{ServerOptions{.broker = {.partitions_default = 4}}};
    TestClient client_ = broker_.connect();
};

TEST_F(Topics, metadata_describes_in_every_version) {
    const auto stream = broker_.catalog.add("events", 2);
    for (int version = 0; version <= 13; ++version) {
        SCOPED_TRACE(version);
        const auto response = metadata({"events", "events"}, version);
        EXPECT_EQ(response.brokers.at(0).node_id, 3);
        EXPECT_EQ(response.brokers.at(0).host, "broker");
        EXPECT_EQ(response.brokers.at(0).port, 9092);
        if (version >= 2) {
            EXPECT_EQ(response.cluster_id, "test-cluster");
            EXPECT_EQ(response.controller_id, 3);
        }
        ASSERT_EQ(response.topics.size(), 1);  // asked for twice
        EXPECT_EQ(response.topics[0].error_code, KafkaError::none);
        EXPECT_EQ(response.topics[0].name, "events");
        EXPECT_EQ(response.topics[0].topic_id, version >= 10 ? Uuid{stream->incarnation} : Uuid{});
        ASSERT_EQ(response.topics[0].partitions.size(), 2);
        const auto& partition = response.topics[0].partitions[1];
        EXPECT_EQ(partition.partition_index, 1);
        EXPECT_EQ(partition.leader_id, 3);
        EXPECT_EQ(partition.leader_epoch, version >= 7 ? 7 : -1);
        EXPECT_EQ(partition.isr_nodes, std::vector<std::int32_t>{3});
    }
}

TEST_F(Topics, metadata_of_all_of_none_and_by_id) {
    const auto stream = broker_.catalog.add("a", 1);
    broker_.catalog.add("b", 1);
    EXPECT_EQ(metadata({}, 0).topics.size(), 2);  // version 0: empty means all
    EXPECT_EQ(metadata({}, 1).topics.size(), 0);
    const MetadataRequest all{.topics = std::nullopt};
    EXPECT_EQ(client_.call<MetadataResponse>(all, 1).topics.size(), 2);

    MetadataRequest by_id;
    by_id.topics->push_back({.topic_id = Uuid{stream->incarnation}, .name = std::nullopt});
    by_id.topics->push_back({.topic_id = Uuid{{std::byte{1}}}, .name = std::nullopt});
    const auto response = client_.call<MetadataResponse>(by_id, 12);
    EXPECT_EQ(response.topics.at(0).name, "a");
    EXPECT_EQ(response.topics.at(1).error_code, KafkaError::unknown_topic_id);
    EXPECT_EQ(response.topics.at(1).name, std::nullopt);
    EXPECT_EQ(
        client_.call<MetadataResponse>(by_id, 10).topics.at(0).error_code,
        KafkaError::invalid_request
    );
}

TEST_F(Topics, metadata_creates_topics_only_where_it_may) {
    EXPECT_EQ(
        metadata({"new"}, 9, false).topics.at(0).error_code, KafkaError::unknown_topic_or_partition
    );
    EXPECT_EQ(metadata({"new"}, 9).topics.at(0).partitions.size(), 4);
    EXPECT_EQ(metadata({"new"}, 9, false).topics.at(0).error_code, KafkaError::none);
    EXPECT_EQ(metadata({"old"}, 1).topics.at(0).error_code, KafkaError::none);
    EXPECT_EQ(metadata({"bad name"}).topics.at(0).error_code, KafkaError::invalid_topic_exception);
    EXPECT_EQ(metadata({""}).topics.at(0).error_code, KafkaError::invalid_topic_exception);

    TestBroker strict(ServerOptions{.broker = {.auto_create_topics = false}});
    TestClient other = strict.connect();
    MetadataRequest request;
    request.topics->push_back({.name = "new"});
    EXPECT_EQ(
        other.call<MetadataResponse>(request, 9).topics.at(0).error_code,
        KafkaError::unknown_topic_or_partition
    );
}

TEST_F(Topics, metadata_says_what_is_authorized_when_asked) {
    broker_.catalog.add("a", 1);
    MetadataRequest request{
        .include_cluster_authorized_operations = true, .include_topic_authorized_operations = true
    };
    request.topics->push_back({.name = "a"});
    const auto response = client_.call<MetadataResponse>(request, 8);
    EXPECT_EQ(response.topics.at(0).topic_authorized_operations, 3576);
    EXPECT_EQ(response.cluster_authorized_operations, 8096);
}

TEST_F(Topics, an_unavailable_catalog_is_retriable) {
    broker_.catalog.error = unavailable("no metadata store");
    const KafkaError error = metadata({"a"}).topics.at(0).error_code;
    EXPECT_TRUE(codec::kafka::is_retriable(error));
}

TEST_F(Topics, create_in_every_version) {
    for (int version = 2; version <= 7; ++version) {
        SCOPED_TRACE(version);
        const std::string name = fmt::format("t{}", version);
        auto asked = topic(name, 3);
        asked.configs = {{.name = "retention.ms", .value = "-1"}};
        const auto answer = create(asked, version);
        EXPECT_EQ(answer.error_code, KafkaError::none);
        const auto described = metadata({name}, 12, false);
        EXPECT_EQ(described.topics.at(0).partitions.size(), 3);
        if (version >= 5) {
            EXPECT_EQ(answer.num_partitions, 3);
            EXPECT_EQ(answer.replication_factor, 1);
            bool is_there = false;
            for (const auto& config : *answer.configs) {
                is_there |= config.name == "retention.ms" && config.value == "-1" &&
                            config.config_source == 1;
            }
            EXPECT_TRUE(is_there);
        }
        if (version >= 7) {
            EXPECT_EQ(answer.topic_id, described.topics.at(0).topic_id);
        }
        EXPECT_EQ(create(asked, version).error_code, KafkaError::topic_already_exists);
    }
}

TEST_F(Topics, create_takes_defaults_and_any_replication_factor) {
    EXPECT_EQ(create(topic("a", -1, -1)).num_partitions, 4);
    EXPECT_EQ(code(topic("b", 1, 3)), KafkaError::none);
    EXPECT_EQ(code(topic("c", 1, 0)), KafkaError::invalid_replication_factor);
    EXPECT_EQ(code(topic("c", 1, -2)), KafkaError::invalid_replication_factor);
    EXPECT_EQ(code(topic("c", 0)), KafkaError::invalid_partitions);
    EXPECT_EQ(code(topic("c", -2)), KafkaError::invalid_partitions);
    EXPECT_EQ(code(topic("c", 100'001)), KafkaError::invalid_partitions);
}

TEST_F(Topics, create_checks_names_and_configs) {
    for (const char* const name : {"", ".", "..", "a b", "a/b", "caf\xc3\xa9"}) {
        EXPECT_EQ(code(topic(name)), KafkaError::invalid_topic_exception) << name;
    }
    EXPECT_EQ(code(topic(std::string(250, 'a'))), KafkaError::invalid_topic_exception);
    EXPECT_EQ(code(topic(std::string(249, 'a'))), KafkaError::none);

    const auto with = [&](std::string name, std::optional<std::string> value) {
        auto asked = topic("configured");
        asked.configs = {{.name = std::move(name), .value = std::move(value)}};
        return create(asked, 7, true);
    };
    const auto unknown = with("no.such.config", "1");
    EXPECT_EQ(unknown.error_code, KafkaError::invalid_config);
    EXPECT_NE(unknown.error_message->find("no.such.config"), std::string::npos);
    EXPECT_EQ(with("retention.ms", std::nullopt).error_code, KafkaError::invalid_config);
    EXPECT_EQ(with("retention.ms", "soon").error_code, KafkaError::invalid_config);
    EXPECT_EQ(with("retention.ms", "-2").error_code, KafkaError::invalid_config);
    EXPECT_EQ(with("cleanup.policy", "delete").error_code, KafkaError::none);
    const auto compacted = with("cleanup.policy", "compact,delete");
    EXPECT_EQ(compacted.error_code, KafkaError::invalid_config);
    EXPECT_NE(compacted.error_message->find("key compaction is not built"), std::string::npos);
    EXPECT_EQ(with("cleanup.policy", "shred").error_code, KafkaError::invalid_config);
    EXPECT_EQ(with("compression.type", "producer").error_code, KafkaError::none);
    EXPECT_EQ(with("min.cleanable.dirty.ratio", "0.1").error_code, KafkaError::none);
    EXPECT_EQ(with("min.cleanable.dirty.ratio", "2").error_code, KafkaError::invalid_config);
    EXPECT_EQ(with("message.timestamp.type", "LogAppendTime").error_code, KafkaError::none);
    EXPECT_EQ(with("message.timestamp.type", "Sometime").error_code, KafkaError::invalid_config);
    EXPECT_EQ(with("lakestream.table", "true").error_code, KafkaError::none);
}

TEST_F(Topics, names_that_differ_in_dots_and_underlines_only_collide) {
    EXPECT_EQ(code(topic("a.b_c")), KafkaError::none);
    const auto refused = create(topic("a_b.c"));
    EXPECT_EQ(refused.error_code, KafkaError::invalid_topic_exception);
    EXPECT_EQ(refused.error_message, "Topic 'a_b.c' collides with existing topic: a.b_c");
    EXPECT_EQ(create(topic("a_b_c"), 7, true).error_code, KafkaError::invalid_topic_exception);
    EXPECT_EQ(code(topic("a.b_c")), KafkaError::topic_already_exists);
    EXPECT_EQ(code(topic("a-b-c")), KafkaError::none);
    EXPECT_EQ(code(topic("a.b_cd")), KafkaError::none);
    EXPECT_EQ(metadata({"a.b.c"}).topics.at(0).error_code, KafkaError::invalid_topic_exception);
    EXPECT_EQ(metadata({"a.b_c"}).topics.at(0).error_code, KafkaError::none);
}

TEST_F(Topics, create_with_assignments) {
    auto asked = topic("a", -1, -1);
    asked.assignments = {
        {.partition_index = 1, .broker_ids = {1, 2}}, {.partition_index = 0, .broker_ids = {2, 1}}
    };
    EXPECT_EQ(create(asked).num_partitions, 2);
    asked.name = "b";
    asked.assignments[0].partition_index = 2;
    EXPECT_EQ(code(asked), KafkaError::invalid_replica_assignment);
    asked.assignments[0] = {.partition_index = 1, .broker_ids = {1, 1}};
    EXPECT_EQ(code(asked), KafkaError::invalid_replica_assignment);
    asked.num_partitions = 2;
    EXPECT_EQ(code(asked), KafkaError::invalid_request);
}

TEST_F(Topics, create_validates_only_and_refuses_doubles) {
    EXPECT_EQ(create(topic("a", 2), 7, true).error_code, KafkaError::none);
    EXPECT_EQ(
        metadata({"a"}, 9, false).topics.at(0).error_code, KafkaError::unknown_topic_or_partition
    );
    broker_.catalog.add("a", 1);
    EXPECT_EQ(create(topic("a", 2), 7, true).error_code, KafkaError::topic_already_exists);
    const CreateTopicsRequest request{.topics = {topic("b"), topic("c"), topic("b")}};
    const auto response = client_.call<CreateTopicsResponse>(request, 7);
    ASSERT_EQ(response.topics.size(), 2);
    EXPECT_EQ(response.topics[0].error_code, KafkaError::invalid_request);
    EXPECT_EQ(response.topics[1].error_code, KafkaError::none);
}

TEST_F(Topics, one_request_creates_only_so_many_partitions) {
    const CreateTopicsRequest request{
        .topics = {topic("a", 60'000), topic("b", 60'000), topic("c", 0)}
    };
    const auto response = client_.call<CreateTopicsResponse>(request, 7);
    EXPECT_EQ(response.topics.at(0).error_code, KafkaError::none);
    EXPECT_EQ(response.topics.at(1).error_code, KafkaError::policy_violation);
    EXPECT_EQ(response.topics.at(2).error_code, KafkaError::invalid_partitions);
}

TEST_F(Topics, delete_in_every_version) {
    for (int version = 1; version <= 6; ++version) {
        SCOPED_TRACE(version);
        const auto stream = broker_.catalog.add("a", 1);
        DeleteTopicsRequest request;
        if (version >= 6) {
            request.topics = {{.name = std::nullopt, .topic_id = Uuid{stream->incarnation}}};
        } else {
            request.topic_names = {"a"};
        }
        const auto response = client_.call<DeleteTopicsResponse>(request, version);
        EXPECT_EQ(response.responses.at(0).error_code, KafkaError::none);
        EXPECT_EQ(response.responses.at(0).name, "a");
        EXPECT_EQ(
            metadata({"a"}, 9, false).topics.at(0).error_code,
            KafkaError::unknown_topic_or_partition
        );
    }
}

TEST_F(Topics, delete_refusals) {
    broker_.catalog.add("a", 1);
    const DeleteTopicsRequest request{
        .topics =
            {
                {.name = "none"},
                {.name = std::nullopt, .topic_id = Uuid{{std::byte{1}}}},
                {.name = std::nullopt},
                {.name = "a", .topic_id = Uuid{{std::byte{1}}}},
                {.name = "none"},
            }
    };
    const auto response = client_.call<DeleteTopicsResponse>(request, 6);
    const auto code = [&](std::size_t i) { return response.responses.at(i).error_code; };
    EXPECT_EQ(code(0), KafkaError::unknown_topic_or_partition);
    EXPECT_EQ(code(1), KafkaError::unknown_topic_id);
    EXPECT_EQ(code(2), KafkaError::invalid_request);
    EXPECT_EQ(code(3), KafkaError::invalid_request);
    EXPECT_EQ(code(4), KafkaError::invalid_request);
}

}  // namespace
}  // namespace lakestream::kafka
