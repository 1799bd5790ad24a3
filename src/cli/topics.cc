// SPDX-License-Identifier: Apache-2.0
// topic create, list, describe, delete.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/topic_info.h"
#include "codec/kafka/gen/create_topics.h"
#include "codec/kafka/gen/delete_topics.h"
#include "codec/kafka/gen/list_offsets.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;
using nlohmann::json;

namespace {

using Topic = kafka::MetadataResponse::MetadataResponseTopic;

constexpr std::int32_t timeout_ms = 30'000;

Error no_topic(std::string_view name) {
    return invalid_argument("there is no topic {}: see `lakestream topic list`", name);
}

/// A broker's answer about a topic, with what to do next where we know.
Status check_topic(
    kafka::ErrorCode code, const std::optional<std::string>& text, const std::string& name
) {
    if (code == kafka::ErrorCode::unknown_topic_or_partition) {
        return no_topic(name);
    }
    if (code == kafka::ErrorCode::topic_already_exists) {
        return invalid_argument(
            "topic {0} exists already: see `lakestream topic describe {0}`", name
        );
    }
    std::string_view why = text.has_value() ? std::string_view(*text) : std::string_view();
    while (why.ends_with('.')) {
        why.remove_suffix(1);
    }
    return check_code(code, why.empty() ? name : fmt::format("topic {}: {}", name, why));
}

std::vector<std::int32_t> partition_numbers(const Topic& topic) {
    std::vector<std::int32_t> numbers;
    for (const auto& partition : topic.partitions) {
        numbers.push_back(partition.partition_index);
    }
    return numbers;
}

struct Create {
    const TopicCreate& options;

    rt::Task<Status> operator()(Broker& broker) {
        kafka::CreateTopicsRequest request;
        request.timeout_ms = timeout_ms;
        auto& topic = request.topics.emplace_back();
        topic.name = options.name;
        topic.num_partitions = options.partitions;
        topic.replication_factor = -1;
        for (const std::string& config : options.configs) {
            const std::size_t equals = config.find('=');
            if (equals == std::string::npos) {
                co_return invalid_argument("--config {}: NAME=VALUE is wanted", config);
            }
            topic.configs.push_back(
                {.name = config.substr(0, equals), .value = config.substr(equals + 1)}
            );
        }
        const auto response =
            LKS_CO_TRY(co_await broker.call<kafka::CreateTopicsResponse>(std::move(request)));
        for (const auto& done : response.topics) {
            LKS_CO_TRY(check_topic(done.error_code, done.error_message, done.name));
        }
        co_return Status();
    }
};

struct List {
    RecordFormat format;

    rt::Task<Status> operator()(Broker& broker) {
        kafka::MetadataRequest request;
        request.topics = std::nullopt;
        auto response =
            LKS_CO_TRY(co_await broker.call<kafka::MetadataResponse>(std::move(request)));
        std::ranges::sort(response.topics, {}, &Topic::name);
        for (const Topic& topic : response.topics) {
            if (format == RecordFormat::text) {
                LKS_CO_TRY(put_line(topic.name.value_or("")));
            } else {
                const json line = {
                    {"topic", topic.name.value_or("")},
                    {"id", topic.topic_id.to_string()},
                    {"partitions", topic.partitions.size()},
                };
                LKS_CO_TRY(put_line(line.dump()));
            }
        }
        co_return Status();
    }
};

struct Describe {
    const std::string& name;
    RecordFormat format;

    rt::Task<Status> operator()(Broker& broker) {
        const Topic topic = LKS_CO_TRY(co_await load_topic(broker, name));
        const auto numbers = partition_numbers(topic);
        const auto begins =
            LKS_CO_TRY(co_await load_offsets(broker, name, numbers, begin_timestamp));
        const auto ends = LKS_CO_TRY(co_await load_offsets(broker, name, numbers, end_timestamp));
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (format == RecordFormat::text) {
                LKS_CO_TRY(put_line(fmt::format(
                    "{} id={} partition={} leader={} begin={} end={}",
                    name,
                    topic.topic_id.to_string(),
                    numbers[i],
                    topic.partitions[i].leader_id,
                    begins[i],
                    ends[i]
                )));
            } else {
                const json line = {
                    {"topic", name},
                    {"id", topic.topic_id.to_string()},
                    {"partition", numbers[i]},
                    {"leader", topic.partitions[i].leader_id},
                    {"begin", begins[i].v},
                    {"end", ends[i].v},
                };
                LKS_CO_TRY(put_line(line.dump()));
            }
        }
        co_return Status();
    }
};

struct Remove {
    const std::string& name;

    rt::Task<Status> operator()(Broker& broker) {
        kafka::DeleteTopicsRequest request;
        request.timeout_ms = timeout_ms;
        request.topics.emplace_back().name = name;
        const auto response =
            LKS_CO_TRY(co_await broker.call<kafka::DeleteTopicsResponse>(std::move(request)));
        for (const auto& done : response.responses) {
            LKS_CO_TRY(check_topic(done.error_code, done.error_message, name));
        }
        co_return Status();
    }
};

template <class Command>
Status run(const std::string& bootstrap, Command command) {
    Session session;
    return session.run(with_broker(session.network(), bootstrap, std::move(command)));
}

}  // namespace

rt::Task<Result<Topic>> load_topic(Broker& broker, std::string name) {
    kafka::MetadataRequest request;
    request.topics->emplace_back().name = name;
    request.allow_auto_topic_creation = false;
    auto response = LKS_CO_TRY(co_await broker.call<kafka::MetadataResponse>(std::move(request)));
    if (response.topics.size() != 1) {
        co_return corrupt("the broker answered with {} topics", response.topics.size());
    }
    Topic topic = std::move(response.topics.front());
    LKS_CO_TRY(check_topic(topic.error_code, std::nullopt, name));
    std::ranges::sort(topic.partitions, {}, [](const auto& p) { return p.partition_index; });
    co_return topic;
}

rt::Task<Result<std::vector<Offset>>> load_offsets(
    Broker& broker, std::string topic, std::vector<std::int32_t> partitions, std::int64_t timestamp
) {
    kafka::ListOffsetsRequest request;
    request.replica_id = -1;
    auto& asked = request.topics.emplace_back();
    asked.name = topic;
    for (const std::int32_t partition : partitions) {
        asked.partitions.push_back({.partition_index = partition, .timestamp = timestamp});
    }
    const auto response =
        LKS_CO_TRY(co_await broker.call<kafka::ListOffsetsResponse>(std::move(request)));
    std::vector<Offset> offsets(partitions.size(), Offset(-1));
    for (const auto& answer : response.topics) {
        for (const auto& partition : answer.partitions) {
            LKS_CO_TRY(cli::check_code(
                partition.error_code, fmt::format("{} {}", topic, partition.partition_index)
            ));
            const auto found = std::ranges::find(partitions, partition.partition_index);
            if (found != partitions.end()) {
                offsets[static_cast<std::size_t>(found - partitions.begin())] =
                    Offset(partition.offset);
            }
        }
    }
    if (timestamp != end_timestamp && std::ranges::find(offsets, Offset(-1)) != offsets.end()) {
        const auto ends =
            LKS_CO_TRY(co_await load_offsets(broker, topic, partitions, end_timestamp));
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            offsets[i] = offsets[i] == Offset(-1) ? ends[i] : offsets[i];
        }
    }
    co_return offsets;
}

Status topic_create(const std::string& bootstrap, const TopicCreate& options) {
    return run(bootstrap, Create{options});
}

Status topic_list(const std::string& bootstrap, RecordFormat format) {
    return run(bootstrap, List{format});
}

Status topic_describe(const std::string& bootstrap, const std::string& name, RecordFormat format) {
    return run(bootstrap, Describe{name, format});
}

Status topic_delete(const std::string& bootstrap, const std::string& name) {
    return run(bootstrap, Remove{name});
}

}  // namespace lakestream::cli
