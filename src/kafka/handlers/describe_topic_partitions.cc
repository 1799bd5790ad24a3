// SPDX-License-Identifier: Apache-2.0
// Walks topics by name, from where the cursor points, until the page is full.
#include "kafka/handlers/describe_topic_partitions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codec/kafka/gen/describe_topic_partitions_fields.h"
#include "kafka/error_map.h"
#include "kafka/handlers/authorized_operations.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = DescribeTopicPartitionsHandler::Request;
using Response = DescribeTopicPartitionsHandler::Response;
using Topic = Response::DescribeTopicPartitionsResponseTopic;

/// What is left of a page.
struct Page {
    Response response;
    std::size_t room;
};

Topic failed(std::string name, KafkaError error) {
    Topic topic;
    topic.error_code = error;
    topic.name = std::move(name);
    return topic;
}

/// Partitions of a topic from `first` on, as far as there is room. Where to go on, if it is here.
std::optional<std::size_t> describe(
    const Call& call, const catalog::StreamInfo& stream, std::size_t first, Page& page
) {
    const Cluster& cluster = call.shard.backend.cluster;
    Topic& topic = page.response.topics.emplace_back();
    topic.name = stream.name.name;
    topic.topic_id = topic_id(stream);
    topic.is_internal = is_internal_topic(stream.name.name);
    topic.topic_authorized_operations = topic_operations;
    first = std::min(first, stream.logs.size());
    const std::size_t count = std::min(page.room, stream.logs.size() - first);
    topic.partitions.reserve(count);
    for (std::size_t i = first; i < first + count; ++i) {
        topic.partitions.push_back({
            .partition_index = static_cast<std::int32_t>(i),
            .leader_id = cluster.self,
            .leader_epoch = cluster.leader_epoch,
            .replica_nodes = {cluster.self},
            .isr_nodes = {cluster.self},
            .eligible_leader_replicas = std::vector<std::int32_t>(),
            .last_known_elr = std::vector<std::int32_t>(),
            .offline_replicas = {},
        });
    }
    page.room -= count;
    return first + count < stream.logs.size() ? std::optional(first + count) : std::nullopt;
}

void go_on_at(Response& response, std::string topic, std::size_t partition) {
    auto& cursor = response.next_cursor.emplace();
    cursor.topic_name = std::move(topic);
    cursor.partition_index = static_cast<std::int32_t>(partition);
}

/// Names that were asked for, or all, in order, from the cursor's on.
rt::Task<Result<std::vector<std::string>>> names_of(Call call, const Request& request) {
    std::vector<std::string> names;
    for (const Request::TopicRequest& topic : request.topics) {
        names.push_back(topic.name);
    }
    if (names.empty()) {
        const auto all =
            LKS_CO_TRY(co_await call.shard.backend.catalog.list(std::string(topic_namespace)));
        for (const catalog::StreamPtr& stream : all) {
            names.push_back(stream->name.name);
        }
    }
    std::ranges::sort(names);
    const auto repeated = std::ranges::unique(names);
    names.erase(repeated.begin(), repeated.end());
    if (request.cursor.has_value()) {
        std::erase_if(names, [&](const std::string& name) {
            return name < request.cursor->topic_name;
        });
    }
    co_return names;
}

Response refuse_all(const Request& request, KafkaError error) {
    Response response;
    for (const Request::TopicRequest& topic : request.topics) {
        response.topics.push_back(failed(topic.name, error));
    }
    return response;
}

rt::Task<void> describe_names(
    Call call, const Request& request, std::vector<std::string> names, Page& page
) {
    for (const std::string& name : names) {
        const bool at_cursor = request.cursor.has_value() && name == request.cursor->topic_name;
        const auto first =
            at_cursor ? static_cast<std::size_t>(request.cursor->partition_index) : 0;
        if (page.room == 0) {
            co_return go_on_at(page.response, name, first);
        }
        const auto stream = co_await load_topic(call.shard.backend.catalog, name, {});
        if (!stream.ok()) {
            if (request.topics.empty() && stream.is(ErrorCode::not_found)) {
                continue;  // deleted since it was listed
            }
            page.response.topics.push_back(failed(
                name,
                check_topic_name(name).ok() ? to_kafka(stream.error())
                                            : KafkaError::invalid_topic_exception
            ));
            continue;
        }
        if (const auto next = describe(call, **stream, first, page)) {
            co_return go_on_at(page.response, name, *next);
        }
    }
}

}  // namespace

rt::Task<Response> DescribeTopicPartitionsHandler::handle(Call call, Request request) {
    const BrokerOptions& options = call.shard.options.broker;
    const bool lost = request.cursor.has_value() && request.cursor->partition_index < 0;
    if (lost || request.topics.size() > options.topics_per_request_max) {
        co_return refuse_all(request, KafkaError::invalid_request);
    }
    auto names = co_await names_of(call, request);
    if (!names.ok()) {
        log::warn("kafka", "topics_not_listed error={}", names.error());
        co_return refuse_all(request, to_kafka(names.error()));
    }
    Page page{
        .response = {},
        .room = static_cast<std::size_t>(
            std::clamp(request.response_partition_limit, 1, options.described_partitions_max)
        ),
    };
    co_await describe_names(call, request, std::move(*names), page);
    co_return std::move(page.response);
}

}  // namespace lakestream::kafka
