// SPDX-License-Identifier: Apache-2.0
// Metadata and offsets of topics.
#include "cli/topic_info.h"

#include <algorithm>

#include "base/format.h"
#include "cli/text.h"
#include "codec/kafka/gen/list_offsets.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;

Status check_topic(
    kafka::ErrorCode code, const std::optional<std::string>& message, const std::string& name
) {
    if (code == kafka::ErrorCode::unknown_topic_or_partition) {
        return invalid_argument("there is no topic {}: see `lakestream topic list`", name);
    }
    if (code == kafka::ErrorCode::topic_already_exists) {
        return invalid_argument(
            "topic {0} exists already: see `lakestream topic describe {0}`", name
        );
    }
    return check_code(code, fmt::format("topic {}", name), message);
}

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

Result<std::vector<std::int32_t>> partitions_of(
    const Topic& topic, std::optional<std::int32_t> one
) {
    std::vector<std::int32_t> numbers;
    for (const auto& partition : topic.partitions) {
        if (!one.has_value() || *one == partition.partition_index) {
            numbers.push_back(partition.partition_index);
        }
    }
    if (numbers.empty() && one.has_value()) {
        return invalid_argument(
            "{} has no partition {}: its partitions are 0 to {}",
            topic.name.value_or(""),
            *one,
            static_cast<std::int64_t>(topic.partitions.size()) - 1
        );
    }
    return numbers;
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
            LKS_CO_TRY(check_code(
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

rt::Task<Result<std::vector<Offset>>> find_offsets(
    Broker& broker, std::string topic, std::vector<std::int32_t> partitions, ConsumeFrom from
) {
    if (const auto* const offset = std::get_if<Offset>(&from)) {
        co_return std::vector<Offset>(partitions.size(), *offset);
    }
    co_return co_await load_offsets(
        broker, std::move(topic), std::move(partitions), std::get<std::int64_t>(from)
    );
}

Result<ConsumeFrom> parse_from(std::string_view text) {
    if (text == "beginning" || text == "earliest") {
        return begin_timestamp;
    }
    if (text == "end" || text == "latest") {
        return end_timestamp;
    }
    if (text.starts_with('@')) {
        return LKS_TRY(parse_timestamp(text.substr(1)));
    }
    const auto offset = parse_integer(text);
    if (!offset.ok()) {
        return invalid_argument("\"{}\" is not: beginning, end, an offset, or @TIME", text);
    }
    return Offset(*offset);
}

Result<NameValue> parse_config(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        return invalid_argument("\"{}\" is not: NAME=VALUE", text);
    }
    return NameValue(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace lakestream::cli
