// SPDX-License-Identifier: Apache-2.0
// Drops streams: their logs are fenced, their name is free again.
#include "kafka/handlers/delete_topics.h"

#include <set>
#include <string>
#include <utility>

#include "codec/kafka/gen/delete_topics_fields.h"
#include "kafka/groups/groups.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = DeleteTopicsHandler::Request;
using Response = DeleteTopicsHandler::Response;
using Asked = Request::DeleteTopicState;
using Answer = Response::DeletableTopicResult;

constexpr std::int16_t first_version_by_id = 6;

std::vector<Asked> topics_of(const Call& call, Request& request) {
    if (call.version >= first_version_by_id) {
        return std::move(request.topics);
    }
    std::vector<Asked> topics;
    for (std::string& name : request.topic_names) {
        topics.push_back({.name = std::move(name)});
    }
    return topics;
}

Answer failed(const Asked& asked, KafkaError error, std::string message) {
    return Answer{
        .name = asked.name,
        .topic_id = asked.topic_id,
        .error_code = error,
        .error_message = std::move(message),
    };
}

rt::Task<Answer> drop(Call call, const Asked& asked) {
    const bool by_id = !asked.topic_id.is_zero();
    if (by_id == asked.name.has_value()) {
        co_return failed(
            asked, KafkaError::invalid_request, "Either a topic's name or its id must be given."
        );
    }
    catalog::Catalog& catalog = call.shard.backend.catalog;
    auto stream = co_await load_topic(catalog, asked.name.value_or(std::string()), asked.topic_id);
    Error error;
    if (stream.ok()) {
        // A topic's id means this topic, its name whatever has the name.
        const Status dropped = co_await catalog.drop(
            (*stream)->name, by_id ? std::optional((*stream)->incarnation) : std::nullopt
        );
        if (dropped.ok()) {
            call.shard.groups.topic_dropped((*stream)->incarnation);
            co_return Answer{.name = (*stream)->name.name, .topic_id = topic_id(**stream)};
        }
        error = dropped.error();
    } else {
        error = stream.error();
    }
    const bool unknown_id = by_id && error.code == ErrorCode::not_found;
    co_return failed(
        asked, unknown_id ? KafkaError::unknown_topic_id : to_kafka(error), error.message
    );
}

}  // namespace

rt::Task<Response> DeleteTopicsHandler::handle(Call call, Request request) {
    Response response;
    std::set<std::pair<std::string, codec::kafka::Uuid>> seen;
    for (const Asked& asked : topics_of(call, request)) {
        if (!seen.emplace(asked.name.value_or(std::string()), asked.topic_id).second) {
            response.responses.push_back(
                failed(asked, KafkaError::invalid_request, "Duplicate topic in the request.")
            );
        } else if (seen.size() > call.shard.options.broker.topics_per_request_max) {
            response.responses.push_back(
                failed(asked, KafkaError::policy_violation, "Too many topics in one request.")
            );
        } else {
            response.responses.push_back(co_await drop(call, asked));
        }
    }
    co_return response;
}

}  // namespace lakestream::kafka
