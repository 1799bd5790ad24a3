// SPDX-License-Identifier: Apache-2.0
// Checks a topic as Kafka would, then creates its stream.
#include "kafka/handlers/create_topics.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "codec/kafka/gen/create_topics_fields.h"
#include "kafka/broker_configs.h"
#include "kafka/handlers/handler.h"
#include "kafka/topic_configs.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = CreateTopicsHandler::Request;
using Response = CreateTopicsHandler::Response;
using Asked = Request::CreatableTopic;
using Answer = Response::CreatableTopicResult;

constexpr std::int16_t replication_factor = 1;  // storage replicates; brokers do not

/// Why a topic is refused: the code and the words.
struct Refusal {
    KafkaError code = KafkaError::none;
    std::string message = {};
};

Answer failed(const Asked& asked, Refusal refusal) {
    Answer answer{
        .name = asked.name,
        .error_code = refusal.code,
        .error_message = std::move(refusal.message),
    };
    return answer;
}

/// Explicit assignments say how many partitions there are; whose they are means nothing here.
Refusal check_assignments(const Asked& asked) {
    if (asked.num_partitions != -1 || asked.replication_factor != -1) {
        return {
            KafkaError::invalid_request,
            "Partitions and replication factor must be -1 beside explicit assignments"
        };
    }
    std::set<std::int32_t> indexes;
    for (const auto& assignment : asked.assignments) {
        const std::set<std::int32_t> brokers(
            assignment.broker_ids.begin(), assignment.broker_ids.end()
        );
        if (brokers.empty() || brokers.size() != assignment.broker_ids.size() ||
            *brokers.begin() < 0) {
            return {
                KafkaError::invalid_replica_assignment,
                fmt::format("Partition {} needs different brokers", assignment.partition_index)
            };
        }
        indexes.insert(assignment.partition_index);
    }
    if (indexes.size() != asked.assignments.size() || *indexes.begin() != 0 ||
        *indexes.rbegin() != static_cast<std::int32_t>(indexes.size()) - 1) {
        return {
            KafkaError::invalid_replica_assignment, "Partitions must be numbered from 0, each once"
        };
    }
    return {};
}

/// Properties of the new stream from its configurations.
Result<catalog::Properties> parse_configs(const Asked& asked) {
    catalog::Properties properties;
    for (const auto& config : asked.configs) {
        if (!config.value.has_value()) {
            return invalid_argument("Null value not supported for topic configs: {}", config.name);
        }
        properties[config.name] = *config.value;
    }
    return parse_topic_configs(properties);
}

Refusal check_configs(const Asked& asked) {
    const auto parsed = parse_configs(asked);
    return parsed.ok() ? Refusal() : Refusal{KafkaError::invalid_config, parsed.error().message};
}

Refusal check(const Asked& asked, const BrokerOptions& options) {
    if (const Status name = check_topic_name(asked.name); !name.ok()) {
        return {KafkaError::invalid_topic_exception, name.error().message};
    }
    if (!asked.assignments.empty()) {
        if (Refusal refusal = check_assignments(asked); refusal.code != KafkaError::none) {
            return refusal;
        }
    } else {
        if (asked.num_partitions == 0 || asked.num_partitions < -1 ||
            asked.num_partitions > options.partitions_max) {
            return {
                KafkaError::invalid_partitions,
                fmt::format("Number of partitions must be 1 to {}", options.partitions_max)
            };
        }
        if (asked.replication_factor == 0 || asked.replication_factor < -1) {
            return {
                KafkaError::invalid_replication_factor, "Replication factor must be larger than 0"
            };
        }
    }
    return check_configs(asked);
}

std::uint32_t partitions_of(const Asked& asked, const BrokerOptions& options) {
    if (!asked.assignments.empty()) {
        return static_cast<std::uint32_t>(asked.assignments.size());
    }
    return static_cast<std::uint32_t>(
        asked.num_partitions < 0 ? options.partitions_default : asked.num_partitions
    );
}

std::vector<Response::CreatableTopicConfigs> effective_configs(
    const Call& call, const catalog::Properties& properties
) {
    std::vector<Response::CreatableTopicConfigs> configs;
    for (const TopicConfig& config : topic_configs()) {
        const auto own = properties.find(std::string(config.name));
        const auto [value, source] =
            own != properties.end()
                ? TopicDefault{.value = own->second, .source = ConfigSource::topic}
                : topic_default(call.shard.backend.settings, config);
        configs.push_back({
            .name = std::string(config.name),
            .value = value.has_value() ? std::optional(std::string(*value)) : std::nullopt,
            .read_only = false,
            .config_source = static_cast<std::int8_t>(source),
        });
    }
    return configs;
}

rt::Task<Refusal> check_collision(Call call, const Asked& asked) {
    const auto other = co_await find_collision(call.shard.backend.catalog, asked.name);
    if (!other.ok()) {
        co_return Refusal{to_kafka(other.error()), other.error().message};
    }
    if (!other->empty()) {
        co_return Refusal{
            KafkaError::invalid_topic_exception,
            fmt::format("Topic '{}' collides with existing topic: {}", asked.name, *other)
        };
    }
    co_return Refusal();
}

rt::Task<Answer> create(Call call, const Asked& asked, bool validate_only) {
    const BrokerOptions& options = call.shard.options.broker;
    if (Refusal refusal = check(asked, options); refusal.code != KafkaError::none) {
        co_return failed(asked, std::move(refusal));
    }
    if (Refusal refusal = co_await check_collision(call, asked); refusal.code != KafkaError::none) {
        co_return failed(asked, std::move(refusal));
    }
    catalog::StreamSpec spec{
        .name = {.ns = std::string(topic_namespace), .name = asked.name},
        .partitions = partitions_of(asked, options),
        .properties = *parse_configs(asked),  // checked above
    };
    Answer answer{
        .name = asked.name,
        .error_message = std::nullopt,
        .num_partitions = static_cast<std::int32_t>(spec.partitions),
        .replication_factor = replication_factor,
        .configs = effective_configs(call, spec.properties),
    };
    Error error;
    if (validate_only) {
        auto there = co_await call.shard.backend.catalog.load(spec.name);
        if (there.is(ErrorCode::not_found)) {
            co_return answer;
        }
        error = there.ok() ? already_exists("Topic '{}' already exists.", asked.name)
                           : std::move(there).error();
    } else {
        auto created = co_await call.shard.backend.catalog.create(std::move(spec));
        if (created.ok()) {
            answer.topic_id = topic_id(**created);
            co_return answer;
        }
        error = std::move(created).error();
        if (error.code == ErrorCode::already_exists) {
            error.message = fmt::format("Topic '{}' already exists.", asked.name);
        }
    }
    co_return failed(asked, {to_kafka(error), error.message});
}

}  // namespace

rt::Task<Response> CreateTopicsHandler::handle(Call call, Request request) {
    const BrokerOptions& options = call.shard.options.broker;
    std::map<std::string, std::size_t> times;
    for (const Asked& asked : request.topics) {
        ++times[asked.name];
    }
    Response response;
    std::int64_t partitions = 0;
    for (const Asked& asked : request.topics) {
        const std::size_t named = std::exchange(times[asked.name], 0);
        if (named == 0) {
            continue;  // answered at its first place
        }
        Answer& answer = response.topics.emplace_back();
        if (named > 1) {
            answer = failed(asked, {KafkaError::invalid_request, "Duplicate topic name."});
            continue;
        }
        partitions += partitions_of(asked, options);
        const bool many = response.topics.size() > options.topics_per_request_max ||
                          partitions > options.partitions_max;
        answer = many && check(asked, options).code == KafkaError::none
                     ? failed(asked, {KafkaError::policy_violation, "Too much in one request."})
                     : co_await create(call, asked, request.validate_only);
    }
    co_return response;
}

}  // namespace lakestream::kafka
