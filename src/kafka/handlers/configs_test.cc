// SPDX-License-Identifier: Apache-2.0
// DescribeConfigs, IncrementalAlterConfigs, AlterConfigs through real frames, in every version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codec/kafka/gen/alter_configs.h"
#include "codec/kafka/gen/create_topics.h"
#include "codec/kafka/gen/describe_configs.h"
#include "codec/kafka/gen/incremental_alter_configs.h"
#include "kafka/config_changes.h"
#include "kafka/testing/broker.h"
#include "kafka/topic_configs.h"

namespace lakestream::kafka {
namespace {

using codec::kafka::AlterConfigsRequest;
using codec::kafka::AlterConfigsResponse;
using codec::kafka::DescribeConfigsRequest;
using codec::kafka::DescribeConfigsResponse;
using codec::kafka::IncrementalAlterConfigsRequest;
using codec::kafka::IncrementalAlterConfigsResponse;
using testing::TestBroker;
using testing::TestClient;

using Described = DescribeConfigsResponse::DescribeConfigsResult;
using Entry = DescribeConfigsResponse::DescribeConfigsResourceResult;

constexpr std::int8_t topic = 2;
constexpr std::int8_t broker = 4;
constexpr std::int8_t topic_source = 1;
constexpr std::int8_t broker_source = 4;
constexpr std::int8_t default_source = 5;

class Configs : public ::testing::Test {
  protected:
    Described describe(
        std::int8_t type,
        std::string name,
        std::optional<std::vector<std::string>> keys = std::nullopt,
        int version = 4
    ) {
        DescribeConfigsRequest request;
        request.resources.push_back(
            {.resource_type = type, .resource_name = std::move(name), .configuration_keys = keys}
        );
        request.include_synonyms = true;
        request.include_documentation = version >= 3;
        return client_.call<DescribeConfigsResponse>(request, version).results.at(0);
    }

    Entry describe_one(std::int8_t type, std::string name, std::string key) {
        const auto described = describe(type, std::move(name), std::vector{key});
        EXPECT_EQ(described.configs.size(), 1);
        return described.configs.empty() ? Entry() : described.configs[0];
    }

    IncrementalAlterConfigsResponse::AlterConfigsResourceResponse alter(
        std::string name,
        std::vector<ConfigChange> changes,
        bool validate_only = false,
        std::int8_t type = topic,
        int version = 1
    ) {
        IncrementalAlterConfigsRequest request;
        auto& resource = request.resources.emplace_back();
        resource.resource_type = type;
        resource.resource_name = std::move(name);
        for (const ConfigChange& change : changes) {
            resource.configs.push_back(
                {.name = change.name,
                 .config_operation = static_cast<std::int8_t>(change.operation),
                 .value = change.value}
            );
        }
        request.validate_only = validate_only;
        return client_.call<IncrementalAlterConfigsResponse>(request, version).responses.at(0);
    }

    catalog::Properties properties(const std::string& name) {
        return broker_.sim.run(broker_.catalog.load({.ns = "default", .name = name}))
            .value()
            ->properties;
    }

    TestBroker broker_;
    TestClient client_ = broker_.connect();
};

TEST_F(Configs, a_topic_is_described_in_every_version) {
    broker_.catalog.add("events", 1, {{"retention.ms", "1000"}});
    for (int version = 1; version <= 4; ++version) {
        SCOPED_TRACE(version);
        const Described described = describe(topic, "events", std::nullopt, version);
        EXPECT_EQ(described.error_code, KafkaError::none);
        EXPECT_EQ(described.resource_name, "events");
        ASSERT_EQ(described.configs.size(), topic_configs().size());
        const auto own = std::ranges::find(described.configs, "retention.ms", &Entry::name);
        EXPECT_EQ(own->value, "1000");
        EXPECT_EQ(own->config_source, topic_source);
        EXPECT_FALSE(own->read_only);
        EXPECT_FALSE(own->is_sensitive);
        ASSERT_EQ(own->synonyms.size(), 2);
        EXPECT_EQ(own->synonyms[0].name, "retention.ms");
        EXPECT_EQ(own->synonyms[0].source, topic_source);
        EXPECT_EQ(own->synonyms[1].name, "log.retention.ms");
        EXPECT_EQ(own->synonyms[1].value, "604800000");
        EXPECT_EQ(own->synonyms[1].source, default_source);
        EXPECT_EQ(own->config_type, version >= 3 ? 5 : 0);
        EXPECT_EQ(!own->documentation.value_or("").empty(), version >= 3);
        const auto other = std::ranges::find(described.configs, "cleanup.policy", &Entry::name);
        EXPECT_EQ(other->value, "delete");
        EXPECT_EQ(other->config_source, default_source);
        const auto none =
            std::ranges::find(described.configs, "internal.segment.bytes", &Entry::name);
        EXPECT_EQ(none->value, std::nullopt);
    }
}

TEST_F(Configs, only_what_is_asked_for_is_described) {
    broker_.catalog.add("events", 1);
    const Described described = describe(topic, "events", {{"retention.ms", "nope"}});
    ASSERT_EQ(described.configs.size(), 1);
    EXPECT_EQ(described.configs[0].name, "retention.ms");
    EXPECT_EQ(describe(topic, "none").error_code, KafkaError::unknown_topic_or_partition);
    EXPECT_EQ(describe(topic, "a b").error_code, KafkaError::invalid_topic_exception);
    EXPECT_EQ(describe(32, "group").error_code, KafkaError::invalid_request);
}

TEST_F(Configs, a_broker_says_who_it_is_and_what_topics_get) {
    EXPECT_EQ(describe_one(broker, "3", "broker.id").value, "3");
    EXPECT_EQ(describe_one(broker, "3", "broker.rack").value, "r1");
    EXPECT_EQ(describe_one(broker, "3", "advertised.listeners").value, "PLAINTEXT://broker:9092");
    const Entry largest = describe_one(broker, "3", "message.max.bytes");
    EXPECT_EQ(largest.value, "1048588");
    EXPECT_TRUE(largest.read_only);
    EXPECT_EQ(largest.config_source, default_source);
    EXPECT_EQ(describe(broker, "4").error_code, KafkaError::invalid_request);
    EXPECT_EQ(describe(broker, "").configs.size(), 0);
}

TEST(BrokerConfigs, settings_of_the_node_are_described_and_are_defaults_of_topics) {
    const std::vector<BrokerConfig> settings{
        {.name = "table.default",
         .value = "true",
         .type = ConfigType::boolean,
         .source = ConfigSource::broker,
         .doc = "tables"},
        {.name = "log.retention.ms",
         .value = "5000",
         .type = ConfigType::int64,
         .source = ConfigSource::broker,
         .doc = "time"},
    };
    TestBroker node(ServerOptions{}, 1, settings);
    TestClient client = node.connect();
    node.catalog.add("events", 1);
    DescribeConfigsRequest request;
    request.resources = {
        {broker, "3", std::vector<std::string>{"log.retention.ms", "table.default"}},
        {topic, "events", std::vector<std::string>{"lakestream.table", "retention.ms"}},
    };
    const auto response = client.call<DescribeConfigsResponse>(request, 4);
    for (const Described& described : response.results) {
        ASSERT_EQ(described.configs.size(), 2);  // once each: no default of Kafka's beside it
        std::vector<std::string> values;
        for (const Entry& entry : described.configs) {
            values.push_back(entry.value.value_or(""));
            EXPECT_EQ(entry.config_source, broker_source) << entry.name;
        }
        EXPECT_THAT(values, ::testing::UnorderedElementsAre("5000", "true"));
    }
    codec::kafka::CreateTopicsRequest create;
    create.topics.push_back({.name = "made", .num_partitions = 1, .replication_factor = 1});
    const auto made = client.call<codec::kafka::CreateTopicsResponse>(create, 7).topics.at(0);
    const auto& configs = made.configs.value();
    const auto retention = std::ranges::find(
        configs, "retention.ms", &codec::kafka::CreateTopicsResponse::CreatableTopicConfigs::name
    );
    ASSERT_NE(retention, configs.end());
    EXPECT_EQ(retention->value, "5000");
    EXPECT_EQ(retention->config_source, broker_source);
}

TEST_F(Configs, operations_change_what_is_stored) {
    broker_.catalog.add(
        "events", 1, {{"retention.ms", "1000"}, {"lakestream.kafka.topic.id", "x"}}
    );
    using enum ConfigOperation;
    const auto done = alter(
        "events",
        {{"retention.ms", remove},
         {"max.message.bytes", set, " 5000"},
         {"leader.replication.throttled.replicas", append, "0:1,0:2"},
         {"never.heard.of", remove}}
    );
    EXPECT_EQ(done.error_code, KafkaError::none);
    EXPECT_EQ(done.error_message, std::nullopt);
    EXPECT_EQ(
        properties("events"),
        (catalog::Properties{
            {"lakestream.kafka.topic.id", "x"},
            {"leader.replication.throttled.replicas", "0:1,0:2"},
            {"max.message.bytes", "5000"},
        })
    );
    alter(
        "events", {{"leader.replication.throttled.replicas", subtract, "0:1,9:9"}}, false, topic, 0
    );
    EXPECT_EQ(properties("events").at("leader.replication.throttled.replicas"), "0:2");
    // Of a list that is not set, its default is changed.
    alter("events", {{"cleanup.policy", subtract, "delete"}});
    EXPECT_EQ(properties("events").at("cleanup.policy"), "");
    alter("events", {{"cleanup.policy", append, "delete"}});
    EXPECT_EQ(properties("events").at("cleanup.policy"), "delete");
    // What is no topic configuration is not a client's to remove.
    alter("events", {{"lakestream.kafka.topic.id", remove}});
    EXPECT_TRUE(properties("events").contains("lakestream.kafka.topic.id"));
}

TEST_F(Configs, a_refused_change_changes_nothing) {
    broker_.catalog.add("events", 1, {{"retention.ms", "1000"}});
    using enum ConfigOperation;
    const auto code = [&](std::vector<ConfigChange> changes) {
        return alter("events", std::move(changes)).error_code;
    };
    const std::vector<ConfigChange> good_and_bad{
        {"max.message.bytes", set, "5"}, {"retention.ms", set, "-5"}
    };
    const auto refused = alter("events", good_and_bad);
    EXPECT_EQ(refused.error_code, KafkaError::invalid_config);
    EXPECT_EQ(
        refused.error_message,
        "Invalid value -5 for configuration retention.ms: Value must be at least -1"
    );
    EXPECT_EQ(code({{"cleanup.policy", append, "compact"}}), KafkaError::invalid_config);
    EXPECT_EQ(code({{"retention.ms", append, "5"}}), KafkaError::invalid_config);
    EXPECT_EQ(code({{"nope", set, "5"}}), KafkaError::invalid_config);
    EXPECT_EQ(code({{"nope", append, "5"}}), KafkaError::invalid_config);
    EXPECT_EQ(code({{"retention.ms", set, std::nullopt}}), KafkaError::invalid_request);
    EXPECT_EQ(code({{"retention.ms", ConfigOperation{7}, "5"}}), KafkaError::invalid_request);
    EXPECT_EQ(
        code({{"retention.ms", set, "5"}, {"retention.ms", remove}}), KafkaError::invalid_request
    );
    EXPECT_EQ(properties("events"), (catalog::Properties{{"retention.ms", "1000"}}));
    EXPECT_EQ(
        alter("none", {{"retention.ms", set, "5"}}).error_code,
        KafkaError::unknown_topic_or_partition
    );
    EXPECT_EQ(
        alter("3", {{"num.partitions", set, "5"}}, false, broker).error_code,
        KafkaError::invalid_request
    );
    EXPECT_EQ(alter("g", {}, false, 32).error_code, KafkaError::invalid_request);
}

TEST_F(Configs, a_validation_changes_nothing) {
    broker_.catalog.add("events", 1);
    using enum ConfigOperation;
    EXPECT_EQ(alter("events", {{"retention.ms", set, "5"}}, true).error_code, KafkaError::none);
    EXPECT_EQ(
        alter("events", {{"retention.ms", set, "-5"}}, true).error_code, KafkaError::invalid_config
    );
    EXPECT_EQ(properties("events"), catalog::Properties());
}

TEST_F(Configs, a_resource_named_twice_is_refused_both_times) {
    broker_.catalog.add("events", 1);
    broker_.catalog.add("other", 1);
    IncrementalAlterConfigsRequest request;
    for (const char* name : {"events", "other", "events"}) {
        auto& resource = request.resources.emplace_back();
        resource.resource_type = topic;
        resource.resource_name = name;
        resource.configs.push_back({.name = "retention.ms", .config_operation = 0, .value = "5"});
    }
    const auto response = client_.call<IncrementalAlterConfigsResponse>(request, 1);
    EXPECT_EQ(response.responses.at(0).error_code, KafkaError::invalid_request);
    EXPECT_EQ(response.responses.at(1).error_code, KafkaError::none);
    EXPECT_EQ(response.responses.at(2).error_code, KafkaError::invalid_request);
    EXPECT_EQ(properties("events"), catalog::Properties());
    EXPECT_EQ(properties("other").at("retention.ms"), "5");
}

TEST_F(Configs, alter_configs_replaces_all_of_them) {
    for (int version = 0; version <= 2; ++version) {
        const std::string name = fmt::format("events-{}", version);
        broker_.catalog.add(
            name, 1, {{"retention.ms", "1000"}, {"lakestream.kafka.topic.id", "x"}}
        );
        AlterConfigsRequest request;
        auto& resource = request.resources.emplace_back();
        resource.resource_type = topic;
        resource.resource_name = name;
        resource.configs.push_back({.name = "max.message.bytes", .value = "5000"});
        EXPECT_EQ(
            client_.call<AlterConfigsResponse>(request, version).responses.at(0).error_code,
            KafkaError::none
        );
        EXPECT_EQ(
            properties(name),
            (catalog::Properties{{"lakestream.kafka.topic.id", "x"}, {"max.message.bytes", "5000"}})
        );
        resource.configs.push_back({.name = "cleanup.policy", .value = "compact"});
        EXPECT_EQ(
            client_.call<AlterConfigsResponse>(request, version).responses.at(0).error_code,
            KafkaError::invalid_config
        );
        resource.configs.back().value = std::nullopt;
        EXPECT_EQ(
            client_.call<AlterConfigsResponse>(request, version).responses.at(0).error_code,
            KafkaError::invalid_request
        );
        EXPECT_EQ(properties(name).size(), 2);
    }
}

TEST(DescribeLimits, a_response_stays_within_its_bytes) {
    TestBroker node(ServerOptions{.broker = {.described_bytes_max = 20'000}});
    TestClient client = node.connect();
    DescribeConfigsRequest request;
    for (int i = 0; i < 20; ++i) {
        node.catalog.add(fmt::format("t{}", i), 1);
        request.resources.push_back(
            {.resource_type = topic,
             .resource_name = fmt::format("t{}", i),
             .configuration_keys = std::nullopt}
        );
    }
    const auto response = client.call<DescribeConfigsResponse>(request, 4);
    ASSERT_EQ(response.results.size(), 20);
    EXPECT_EQ(response.results.front().error_code, KafkaError::none);
    EXPECT_EQ(response.results.back().error_code, KafkaError::policy_violation);
    EXPECT_EQ(response.results.back().resource_name, "t19");
}

}  // namespace
}  // namespace lakestream::kafka
