// SPDX-License-Identifier: Apache-2.0
// An election is never needed: any broker serves any partition.
#include "kafka/handlers/elect_leaders.h"

#include <utility>

#include "codec/kafka/gen/elect_leaders_fields.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = ElectLeadersHandler::Request;
using Response = ElectLeadersHandler::Response;

}  // namespace

rt::Task<Response> ElectLeadersHandler::handle(Call call, Request request) {
    Response response;
    if (!request.topic_partitions.has_value()) {
        co_return response;  // all that need one: none
    }
    for (const auto& asked : *request.topic_partitions) {
        auto& topic = response.replica_election_results.emplace_back();
        topic.topic = asked.topic;
        const auto stream = co_await load_topic(call.shard.backend.catalog, asked.topic, {});
        for (const std::int32_t partition : asked.partitions) {
            auto& answer = topic.partition_result.emplace_back();
            answer.partition_id = partition;
            const bool there = stream.ok() && partition >= 0 &&
                               static_cast<std::size_t>(partition) < (*stream)->logs.size();
            if (there) {
                answer.error_code = KafkaError::election_not_needed;
                answer.error_message = "Every broker leads every partition.";
            } else if (stream.ok() || stream.is(ErrorCode::not_found)) {
                answer.error_code = KafkaError::unknown_topic_or_partition;
                answer.error_message = "The topic or partition does not exist.";
            } else {
                answer.error_code = to_kafka(stream.error());
                answer.error_message = stream.error().message;
            }
        }
    }
    co_return response;
}

std::optional<Response> ElectLeadersHandler::refused(KafkaError error, std::int16_t version) {
    return version >= 1 ? std::optional(Response{.error_code = error}) : std::nullopt;
}

}  // namespace lakestream::kafka
