// SPDX-License-Identifier: Apache-2.0
// Answers from what the broker knows of its cluster.
#include "kafka/handlers/describe_cluster.h"

#include "codec/kafka/gen/describe_cluster_fields.h"
#include "kafka/handlers/authorized_operations.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

namespace {

using Request = DescribeClusterHandler::Request;
using Response = DescribeClusterHandler::Response;

constexpr std::int8_t brokers = 1;
constexpr std::int8_t controllers = 2;

Response failed(KafkaError error, std::string message) {
    Response response;
    response.error_code = error;
    response.error_message = std::move(message);
    return response;
}

}  // namespace

rt::Task<Response> DescribeClusterHandler::handle(Call call, Request request) {
    if (request.endpoint_type != brokers) {
        co_return request.endpoint_type == controllers
            ? failed(
                  KafkaError::mismatched_endpoint_type,
                  "This is a broker; there are no controllers beside the brokers."
              )
            : failed(
                  KafkaError::unsupported_endpoint_type,
                  fmt::format("Unsupported endpoint type {}", request.endpoint_type)
              );
    }
    const Cluster& cluster = call.shard.backend.cluster;
    Response response;
    response.cluster_id = cluster.id;
    response.controller_id = cluster.self;
    for (const BrokerIdentity& broker : cluster.brokers) {
        response.brokers.push_back({
            .broker_id = broker.id,
            .host = broker.address.host,
            .port = broker.address.port,
            .rack = broker.rack,
        });
    }
    if (request.include_cluster_authorized_operations) {
        response.cluster_authorized_operations = cluster_operations;
    }
    co_return response;
}

std::optional<Response> DescribeClusterHandler::refused(KafkaError error, std::int16_t) {
    return failed(error, "The request cannot be read.");
}

}  // namespace lakestream::kafka
