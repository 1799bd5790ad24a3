// SPDX-License-Identifier: Apache-2.0
// topic create, list, describe, delete, add-partitions, trim.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/topic_info.h"
#include "codec/kafka/gen/create_partitions.h"
#include "codec/kafka/gen/create_topics.h"
#include "codec/kafka/gen/delete_records.h"
#include "codec/kafka/gen/delete_topics.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;

namespace {

rt::Task<Status> create(Broker& broker, const TopicCreate& options) {
    kafka::CreateTopicsRequest request;
    request.timeout_ms = change_timeout_ms;
    for (const std::string& name : options.names) {
        auto& topic = request.topics.emplace_back();
        topic.name = name;
        topic.num_partitions = options.partitions;
        topic.replication_factor = options.replication_factor;
        for (const std::string& config : options.configs) {
            auto [key, value] = LKS_CO_TRY(parse_config(config));
            topic.configs.push_back({.name = std::move(key), .value = std::move(value)});
        }
    }
    const auto response =
        LKS_CO_TRY(co_await broker.call<kafka::CreateTopicsResponse>(std::move(request)));
    Rows made(options.format, {"topic", "id", "partitions"});
    Failures failures;
    for (const auto& done : response.topics) {
        if (done.error_code == kafka::ErrorCode::none) {
            LKS_CO_TRY(made.add({done.name, done.topic_id.to_string(), done.num_partitions}));
        }
        failures.add(check_topic(done.error_code, done.error_message, done.name));
    }
    co_return std::move(failures).last();
}

rt::Task<Status> list(Broker& broker, RecordFormat format) {
    kafka::MetadataRequest request;
    request.topics = std::nullopt;
    auto response = LKS_CO_TRY(co_await broker.call<kafka::MetadataResponse>(std::move(request)));
    std::ranges::sort(response.topics, {}, &Topic::name);
    Rows rows(format, {"topic", "id", "partitions"});
    for (const Topic& topic : response.topics) {
        const std::string name = topic.name.value_or("");
        if (format == RecordFormat::text) {  // names only: other programs read them
            LKS_CO_TRY(put_line(name));
        } else {
            LKS_CO_TRY(rows.add({name, topic.topic_id.to_string(), topic.partitions.size()}));
        }
    }
    co_return Status();
}

rt::Task<Status> describe(Broker& broker, std::string name, RecordFormat format) {
    const Topic topic = LKS_CO_TRY(co_await load_topic(broker, name));
    const auto numbers = LKS_CO_TRY(partitions_of(topic));
    const auto begins = LKS_CO_TRY(co_await load_offsets(broker, name, numbers, begin_timestamp));
    const auto ends = LKS_CO_TRY(co_await load_offsets(broker, name, numbers, end_timestamp));
    Rows rows(format, {"topic", "id", "partition", "leader", "begin", "end"});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        LKS_CO_TRY(rows.add(
            {name,
             topic.topic_id.to_string(),
             numbers[i],
             topic.partitions[i].leader_id,
             begins[i].v,
             ends[i].v}
        ));
    }
    co_return rows.finish();
}

rt::Task<Status> remove(
    Broker& broker, const std::vector<std::string>& names, RecordFormat format
) {
    kafka::DeleteTopicsRequest request;
    request.timeout_ms = change_timeout_ms;
    for (const std::string& name : names) {
        request.topics.emplace_back().name = name;
    }
    const auto response =
        LKS_CO_TRY(co_await broker.call<kafka::DeleteTopicsResponse>(std::move(request)));
    Rows deleted(format, {"topic"});
    Failures failures;
    for (const auto& done : response.responses) {
        const std::string name = done.name.value_or("");
        if (done.error_code == kafka::ErrorCode::none) {
            LKS_CO_TRY(deleted.add({name}));
        }
        failures.add(check_topic(done.error_code, done.error_message, name));
    }
    co_return std::move(failures).last();
}

rt::Task<Status> add_partitions(
    Broker& broker, std::string name, std::int32_t more, RecordFormat format
) {
    const Topic topic = LKS_CO_TRY(co_await load_topic(broker, name));
    const std::int32_t count = static_cast<std::int32_t>(topic.partitions.size()) + more;
    kafka::CreatePartitionsRequest request;
    request.timeout_ms = change_timeout_ms;
    request.topics.push_back({
        .name = name,
        .count = count,
        .assignments = std::nullopt,
    });
    const auto response =
        LKS_CO_TRY(co_await broker.call<kafka::CreatePartitionsResponse>(std::move(request)));
    for (const auto& done : response.results) {
        LKS_CO_TRY(check_topic(done.error_code, done.error_message, name));
    }
    Rows grown(format, {"topic", "partitions"});
    co_return grown.add({name, count});
}

/// Offsets below `begins` are gone; beyond `ends` nothing can be removed.
Result<std::vector<Offset>> checked_trims(
    const Trim& options,
    const std::vector<std::int32_t>& numbers,
    std::vector<Offset> trims,
    const std::vector<Offset>& begins,
    const std::vector<Offset>& ends
) {
    for (std::size_t i = 0; i < trims.size(); ++i) {
        if (trims[i] > ends[i]) {
            return invalid_argument(
                "{} {} ends at {}: it cannot be trimmed to {}; see `lakestream topic describe {}`",
                options.topic,
                numbers[i],
                ends[i],
                trims[i],
                options.topic
            );
        }
        trims[i] = std::max(trims[i], begins[i]);
    }
    return trims;
}

rt::Task<Status> trim(Broker& broker, const Trim& options) {
    const std::string& name = options.topic;
    const Topic topic = LKS_CO_TRY(co_await load_topic(broker, name));
    const auto numbers = LKS_CO_TRY(partitions_of(topic, options.partition));
    const auto begins = LKS_CO_TRY(co_await load_offsets(broker, name, numbers, begin_timestamp));
    const auto ends = LKS_CO_TRY(co_await load_offsets(broker, name, numbers, end_timestamp));
    auto wanted = LKS_CO_TRY(co_await find_offsets(broker, name, numbers, options.to));
    const auto trims = LKS_CO_TRY(checked_trims(options, numbers, std::move(wanted), begins, ends));
    if (!options.dry_run) {
        kafka::DeleteRecordsRequest request;
        request.timeout_ms = change_timeout_ms;
        auto& asked = request.topics.emplace_back();
        asked.name = name;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            asked.partitions.push_back({.partition_index = numbers[i], .offset = trims[i].v});
        }
        const auto response =
            LKS_CO_TRY(co_await broker.call<kafka::DeleteRecordsResponse>(std::move(request)));
        for (const auto& done : response.topics) {
            for (const auto& partition : done.partitions) {
                LKS_CO_TRY(check_code(
                    partition.error_code, fmt::format("{} {}", name, partition.partition_index)
                ));
            }
        }
    }
    Rows rows(options.format, {"topic", "partition", "begin", "new_begin", "end"});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        LKS_CO_TRY(rows.add({name, numbers[i], begins[i].v, trims[i].v, ends[i].v}));
    }
    co_return rows.finish();
}

}  // namespace

Status topic_create(const std::string& bootstrap, const TopicCreate& options) {
    return on_broker(bootstrap, create, options);
}

Status topic_list(const std::string& bootstrap, RecordFormat format) {
    return on_broker(bootstrap, list, format);
}

Status topic_describe(const std::string& bootstrap, const std::string& name, RecordFormat format) {
    return on_broker(bootstrap, describe, name, format);
}

Status topic_delete(
    const std::string& bootstrap, const std::vector<std::string>& names, RecordFormat format
) {
    return on_broker(bootstrap, remove, names, format);
}

Status topic_add_partitions(
    const std::string& bootstrap, const std::string& name, std::int32_t more, RecordFormat format
) {
    return on_broker(bootstrap, add_partitions, name, more, format);
}

Status topic_trim(const std::string& bootstrap, const Trim& options) {
    return on_broker(bootstrap, trim, options);
}

}  // namespace lakestream::cli
