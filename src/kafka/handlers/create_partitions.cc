// SPDX-License-Identifier: Apache-2.0
// Checks the wish as Kafka would, then grows the stream.
#include "kafka/handlers/create_partitions.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "codec/kafka/gen/create_partitions_fields.h"
#include "kafka/error_map.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = CreatePartitionsHandler::Request;
using Response = CreatePartitionsHandler::Response;
using Asked = Request::CreatePartitionsTopic;
using Answer = Response::CreatePartitionsTopicResult;

Answer answer_of(const Asked& asked, KafkaError code, std::string message) {
    Answer answer;
    answer.name = asked.name;
    answer.error_code = code;
    if (code != KafkaError::none) {
        answer.error_message = std::move(message);
    }
    return answer;
}

Answer no_increase(const Asked& asked, std::size_t now) {
    const bool same = static_cast<std::size_t>(std::max(asked.count, 0)) == now;
    return answer_of(
        asked,
        KafkaError::invalid_partitions,
        same ? fmt::format("Topic already has {} partition(s).", now)
             : fmt::format(
                   "The topic {} currently has {} partition(s); {} would not be an increase.",
                   asked.name,
                   now,
                   asked.count
               )
    );
}

/// Explicit assignments need to fit; whose the new partitions are means nothing here.
bool are_assignments_sound(const Asked& asked, std::size_t now) {
    if (!asked.assignments.has_value()) {
        return true;
    }
    for (const auto& assignment : *asked.assignments) {
        const std::set<std::int32_t> brokers(
            assignment.broker_ids.begin(), assignment.broker_ids.end()
        );
        if (brokers.empty() || brokers.size() != assignment.broker_ids.size() ||
            *brokers.begin() < 0) {
            return false;
        }
    }
    return asked.assignments->size() == static_cast<std::size_t>(asked.count) - now;
}

rt::Task<Answer> grow(Call call, const Asked& asked, bool validate_only) {
    catalog::Catalog& catalog = call.shard.backend.catalog;
    const auto stream = co_await load_topic(catalog, asked.name, {});
    if (!stream.ok()) {
        co_return answer_of(asked, to_kafka(stream.error()), stream.error().message);
    }
    const std::size_t now = (*stream)->logs.size();
    if (asked.count <= 0 || static_cast<std::size_t>(asked.count) <= now) {
        co_return no_increase(asked, now);
    }
    const std::int32_t most = call.shard.options.broker.partitions_max;
    if (asked.count > most) {
        co_return answer_of(
            asked,
            KafkaError::invalid_partitions,
            fmt::format("Number of partitions must be at most {}", most)
        );
    }
    if (!are_assignments_sound(asked, now)) {
        co_return answer_of(
            asked,
            KafkaError::invalid_replica_assignment,
            fmt::format(
                "{} new partitions need as many assignments, each of different brokers",
                static_cast<std::size_t>(asked.count) - now
            )
        );
    }
    if (validate_only) {
        co_return answer_of(asked, KafkaError::none, {});
    }
    const auto wanted = static_cast<std::uint32_t>(asked.count);
    const auto grown = co_await catalog.grow((*stream)->name, (*stream)->incarnation, wanted);
    if (!grown.ok()) {
        co_return answer_of(asked, to_kafka(grown.error()), grown.error().message);
    }
    // Somebody else's wish came first.
    co_return (*grown)->logs.size() > wanted ? no_increase(asked, (*grown)->logs.size())
                                             : answer_of(asked, KafkaError::none, {});
}

}  // namespace

rt::Task<Response> CreatePartitionsHandler::handle(Call call, Request request) {
    const BrokerOptions& options = call.shard.options.broker;
    std::map<std::string, int> times;
    for (const Asked& asked : request.topics) {
        ++times[asked.name];
    }
    Response response;
    std::int64_t partitions = 0;
    for (const Asked& asked : request.topics) {
        partitions += std::max(asked.count, 0);
        if (times[asked.name] > 1) {
            response.results.push_back(
                answer_of(asked, KafkaError::invalid_request, "Duplicate topic in the request.")
            );
        } else if (response.results.size() >= options.topics_per_request_max ||
                   (partitions > options.partitions_max && request.topics.size() > 1)) {
            response.results.push_back(
                answer_of(asked, KafkaError::policy_violation, "Too much in one request.")
            );
        } else {
            response.results.push_back(co_await grow(call, asked, request.validate_only));
        }
    }
    co_return response;
}

}  // namespace lakestream::kafka
