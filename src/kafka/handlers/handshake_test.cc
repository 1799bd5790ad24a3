// SPDX-License-Identifier: Apache-2.0
// ApiVersions and InitProducerId through real frames, in every version.
#include <gtest/gtest.h>

#include <set>

#include "codec/kafka/gen/api_versions.h"
#include "codec/kafka/gen/init_producer_id.h"
#include "kafka/dispatch.h"
#include "kafka/testing/broker.h"

namespace lakestream::kafka {
namespace {

using codec::kafka::ApiKey;
using codec::kafka::ApiVersionsRequest;
using codec::kafka::ApiVersionsResponse;
using codec::kafka::InitProducerIdRequest;
using codec::kafka::InitProducerIdResponse;
using testing::TestBroker;
using testing::TestClient;

class Handshake : public ::testing::Test {
  protected:
    static ApiVersionsRequest hello() {
        return {.client_software_name = "a-client", .client_software_version = "1.2.3"};
    }

    TestBroker broker_;
    TestClient client_ = broker_.connect();
};

TEST_F(Handshake, api_versions_lists_what_is_served_in_every_version) {
    for (int version = 0; version <= 5; ++version) {
        SCOPED_TRACE(version);
        const auto response = client_.call<ApiVersionsResponse>(hello(), version);
        EXPECT_EQ(response.error_code, KafkaError::none);
        EXPECT_EQ(response.api_keys.size(), served_apis().size());
        for (const auto& api : response.api_keys) {
            const auto released = codec::kafka::find_api(api.api_key)->versions;
            EXPECT_EQ(api.max_version, released.last) << api.api_key;
            const bool produce = api.api_key == static_cast<std::int16_t>(ApiKey::produce);
            EXPECT_EQ(api.min_version, produce ? 0 : released.first) << api.api_key;
        }
    }
}

TEST_F(Handshake, a_future_version_is_answered_in_version_0) {
    const std::int32_t id = client_.send_body(ApiKey::api_versions, 99, [](codec::Writer& writer) {
        writer.raw(std::string_view("whatever comes in a future version"));
    });
    const auto response = client_.receive<ApiVersionsResponse>(id, 0);
    EXPECT_EQ(response.error_code, KafkaError::unsupported_version);
    ASSERT_EQ(response.api_keys.size(), 1);
    EXPECT_EQ(response.api_keys[0].api_key, static_cast<std::int16_t>(ApiKey::api_versions));
    EXPECT_EQ(response.api_keys[0].max_version, 5);
    EXPECT_EQ(client_.call<ApiVersionsResponse>(hello(), 0).error_code, KafkaError::none);
}

TEST_F(Handshake, api_versions_checks_the_clients_words) {
    ApiVersionsRequest request = hello();
    request.client_software_name = "-bad";
    EXPECT_EQ(
        client_.call<ApiVersionsResponse>(request, 3).error_code, KafkaError::invalid_request
    );
    request = hello();
    request.cluster_id = "another";
    EXPECT_EQ(
        client_.call<ApiVersionsResponse>(request, 5).error_code, KafkaError::rebootstrap_required
    );
    request.cluster_id = "test-cluster";
    request.node_id = 3;
    EXPECT_EQ(client_.call<ApiVersionsResponse>(request, 5).error_code, KafkaError::none);
}

TEST_F(Handshake, a_malformed_body_is_an_invalid_request) {
    const std::int32_t id = client_.send_body(ApiKey::api_versions, 3, [](codec::Writer& writer) {
        writer.raw(std::string_view("\xff\xff\xff\xff", 4));
    });
    const auto response = client_.receive<ApiVersionsResponse>(id, 3);
    EXPECT_EQ(response.error_code, KafkaError::invalid_request);
    EXPECT_EQ(broker_.metrics.requests_refused.value(), 1);
}

TEST_F(Handshake, producer_ids_are_new_in_every_version) {
    std::set<std::int64_t> ids;
    for (int version = 0; version <= 5; ++version) {
        const auto response = client_.call<InitProducerIdResponse>(
            InitProducerIdRequest{.transactional_id = std::nullopt}, version
        );
        EXPECT_EQ(response.error_code, KafkaError::none);
        EXPECT_EQ(response.producer_epoch, 0);
        EXPECT_TRUE(ids.insert(response.producer_id).second);
    }
}

TEST_F(Handshake, producer_ids_come_in_blocks) {
    ServerOptions options;
    options.broker.producer_ids_block = 2;
    TestBroker small(options);
    TestClient producer = small.connect();
    for (std::int64_t expected : {5000, 5001, 5002, 5003, 5004}) {
        const auto response = producer.call<InitProducerIdResponse>(
            InitProducerIdRequest{.transactional_id = std::nullopt}, 4
        );
        EXPECT_EQ(response.producer_id, expected);
    }
    small.catalog.error = unavailable("no metadata store");
    static_cast<void>(producer.call<InitProducerIdResponse>(
        InitProducerIdRequest{.transactional_id = std::nullopt}, 4
    ));  // the last of the block
    const auto response = producer.call<InitProducerIdResponse>(
        InitProducerIdRequest{.transactional_id = std::nullopt}, 4
    );
    EXPECT_EQ(response.error_code, KafkaError::coordinator_not_available);
    EXPECT_EQ(response.producer_id, -1);
}

TEST_F(Handshake, producer_epochs_are_bumped_until_they_run_out) {
    const auto bump = [&](std::int64_t id, std::int16_t epoch) {
        return client_.call<InitProducerIdResponse>(
            InitProducerIdRequest{
                .transactional_id = std::nullopt, .producer_id = id, .producer_epoch = epoch
            },
            3
        );
    };
    EXPECT_EQ(bump(42, 5).producer_id, 42);
    EXPECT_EQ(bump(42, 5).producer_epoch, 6);
    EXPECT_NE(bump(42, 32'766).producer_id, 42);
    EXPECT_EQ(bump(42, 32'766).producer_epoch, 0);
    EXPECT_EQ(bump(42, -1).error_code, KafkaError::invalid_request);
    EXPECT_EQ(bump(-1, 4).error_code, KafkaError::invalid_request);
}

TEST_F(Handshake, transactional_ids_are_refused) {
    const auto response =
        client_.call<InitProducerIdResponse>(InitProducerIdRequest{.transactional_id = "t"}, 4);
    EXPECT_EQ(response.error_code, KafkaError::invalid_request);
    EXPECT_EQ(response.producer_id, -1);
}

}  // namespace
}  // namespace lakestream::kafka
