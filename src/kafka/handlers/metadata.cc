// SPDX-License-Identifier: Apache-2.0
// Describes topics, and creates those that a client asks for and that do not exist.
#include "kafka/handlers/metadata.h"

#include <set>
#include <string>
#include <utility>

#include "codec/kafka/gen/metadata_fields.h"
#include "kafka/handlers/authorized_operations.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = MetadataHandler::Request;
using Response = MetadataHandler::Response;
using Topic = Response::MetadataResponseTopic;

constexpr std::int16_t first_version_by_id = 12;

Topic describe(const Call& call, const Request& request, const catalog::StreamInfo& stream) {
    const Cluster& cluster = call.shard.backend.cluster;
    Topic topic{
        .name = stream.name.name,
        .topic_id = topic_id(stream),
        .is_internal = is_internal_topic(stream.name.name),
        .partitions = {},
    };
    topic.partitions.reserve(stream.logs.size());
    for (std::size_t i = 0; i < stream.logs.size(); ++i) {
        topic.partitions.push_back({
            .partition_index = static_cast<std::int32_t>(i),
            .leader_id = cluster.self,
            .leader_epoch = cluster.leader_epoch,
            .replica_nodes = {cluster.self},
            .isr_nodes = {cluster.self},
            .offline_replicas = {},
        });
    }
    if (request.include_topic_authorized_operations) {
        topic.topic_authorized_operations = topic_operations;
    }
    return topic;
}

Topic failed(const Request::MetadataRequestTopic& asked, KafkaError error) {
    return Topic{
        .error_code = error, .name = asked.name, .topic_id = asked.topic_id, .partitions = {}
    };
}

rt::Task<Result<catalog::StreamPtr>> create_topic(Call call, std::string name) {
    catalog::Catalog& catalog = call.shard.backend.catalog;
    const catalog::StreamName stream{.ns = std::string(topic_namespace), .name = std::move(name)};
    auto created = co_await catalog.create({
        .name = stream,
        .partitions = static_cast<std::uint32_t>(call.shard.options.broker.partitions_default),
        .properties = {},
    });
    if (created.is(ErrorCode::already_exists)) {
        co_return co_await catalog.load(stream);
    }
    co_return std::move(created);
}

rt::Task<Topic> describe_asked(
    Call call, const Request& request, const Request::MetadataRequestTopic& asked
) {
    const bool by_id = !asked.topic_id.is_zero() || !asked.name.has_value();
    if (by_id && call.version < first_version_by_id) {
        co_return failed(asked, KafkaError::invalid_request);
    }
    catalog::Catalog& catalog = call.shard.backend.catalog;
    auto stream = co_await load_topic(catalog, by_id ? std::string() : *asked.name, asked.topic_id);
    if (stream.is(ErrorCode::not_found)) {
        if (by_id) {
            co_return failed(
                {.topic_id = asked.topic_id, .name = {}}, KafkaError::unknown_topic_id
            );
        }
        if (!check_topic_name(*asked.name).ok()) {
            co_return failed(asked, KafkaError::invalid_topic_exception);
        }
        if (call.shard.options.broker.auto_create_topics && request.allow_auto_topic_creation) {
            const auto other = co_await find_collision(catalog, *asked.name);
            if (!other.ok() || !other->empty()) {
                co_return failed(
                    asked,
                    other.ok() ? KafkaError::invalid_topic_exception : to_kafka(other.error())
                );
            }
            stream = co_await create_topic(call, *asked.name);
        }
    }
    if (!stream.ok()) {
        co_return failed(asked, to_kafka(stream.error()));
    }
    co_return describe(call, request, **stream);
}

void describe_cluster(const Call& call, const Request& request, Response& response) {
    const Cluster& cluster = call.shard.backend.cluster;
    for (const BrokerIdentity& broker : cluster.brokers) {
        response.brokers.push_back({
            .node_id = broker.id,
            .host = broker.address.host,
            .port = broker.address.port,
            .rack = broker.rack,
        });
    }
    response.cluster_id = cluster.id;
    response.controller_id = cluster.self;
    if (request.include_cluster_authorized_operations) {
        response.cluster_authorized_operations = cluster_operations;
    }
}

rt::Task<void> describe_all(Call call, const Request& request, Response& response) {
    auto streams = co_await call.shard.backend.catalog.list(std::string(topic_namespace));
    if (!streams.ok()) {
        log::warn("kafka", "topics_not_listed error={}", streams.error());
        response.error_code = to_kafka(streams.error());
        co_return;
    }
    for (const catalog::StreamPtr& stream : *streams) {
        response.topics.push_back(describe(call, request, *stream));
    }
}

}  // namespace

rt::Task<Response> MetadataHandler::handle(Call call, Request request) {
    Response response;
    describe_cluster(call, request, response);
    const bool all = !request.topics.has_value() || (call.version == 0 && request.topics->empty());
    if (all) {
        co_await describe_all(call, request, response);
        co_return response;
    }
    std::set<std::pair<std::string, codec::kafka::Uuid>> seen;
    for (const Request::MetadataRequestTopic& asked : *request.topics) {
        if (!seen.emplace(asked.name.value_or(std::string()), asked.topic_id).second) {
            continue;
        }
        if (seen.size() > call.shard.options.broker.topics_per_request_max) {
            response.topics.push_back(failed(asked, KafkaError::invalid_request));
            continue;
        }
        response.topics.push_back(co_await describe_asked(call, request, asked));
        // Where a name may not be null, an id that was asked for in vain cannot be answered.
        if (call.version < first_version_by_id && !response.topics.back().name.has_value()) {
            response.topics.back().name.emplace();
        }
    }
    co_return response;
}

std::optional<Response> MetadataHandler::refused(KafkaError error, std::int16_t version) {
    constexpr std::int16_t first_version_with_error = 13;
    return version >= first_version_with_error ? std::optional(Response{.error_code = error})
                                               : std::nullopt;
}

}  // namespace lakestream::kafka
