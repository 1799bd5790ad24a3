// SPDX-License-Identifier: Apache-2.0
// The table of topic configurations (from third_party/kafka-protocol/configs.json) and its checks.
#include "kafka/topics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace lakestream::kafka {

namespace {

using enum TopicConfig::Type;

constexpr std::int64_t int_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t long_min = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t long_max = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view long_max_text = "9223372036854775807";
constexpr std::size_t name_bytes_max = 249;

constexpr std::array configs{
    TopicConfig{"cleanup.policy", list, "delete", 0, 0, "compact delete"},
    TopicConfig{"compression.gzip.level", integer, "-1", -1, 9},
    TopicConfig{"compression.lz4.level", integer, "9", 1, 17},
    TopicConfig{
        "compression.type", text, "producer", 0, 0, "uncompressed zstd lz4 snappy gzip producer"
    },
    TopicConfig{"compression.zstd.level", integer, "3", -131072, 22},
    TopicConfig{"delete.retention.ms", integer, "86400000", 0, long_max},
    TopicConfig{"errors.deadletterqueue.group.enable", boolean, "false"},
    TopicConfig{"file.delete.delay.ms", integer, "60000", 0, long_max},
    TopicConfig{"flush.messages", integer, long_max_text, 1, long_max},
    TopicConfig{"flush.ms", integer, long_max_text, 0, long_max},
    TopicConfig{"follower.replication.throttled.replicas", list, ""},
    TopicConfig{"index.interval.bytes", integer, "4096", 0, int_max},
    TopicConfig{"lakestream.table", boolean, "false"},
    TopicConfig{"leader.replication.throttled.replicas", list, ""},
    TopicConfig{"local.retention.bytes", integer, "-2", -2, long_max},
    TopicConfig{"local.retention.ms", integer, "-2", -2, long_max},
    TopicConfig{"max.compaction.lag.ms", integer, long_max_text, 1, long_max},
    TopicConfig{"max.decompressed.message.bytes", integer, "2147483639", 1, 2147483639},
    TopicConfig{"max.message.bytes", integer, "1048588", 0, int_max},
    TopicConfig{"message.timestamp.after.max.ms", integer, "3600000", 0, long_max},
    TopicConfig{"message.timestamp.before.max.ms", integer, long_max_text, 0, long_max},
    // LogAppendTime would have to be written into the batches: not yet.
    TopicConfig{"message.timestamp.type", text, "CreateTime", 0, 0, "CreateTime"},
    TopicConfig{"min.cleanable.dirty.ratio", real, "0.5", 0, 1},
    TopicConfig{"min.compaction.lag.ms", integer, "0", 0, long_max},
    TopicConfig{"min.insync.replicas", integer, "1", 1, int_max},
    TopicConfig{"preallocate", boolean, "false"},
    TopicConfig{"remote.copy.lag.bytes", integer, "-1", -1, long_max},
    TopicConfig{"remote.copy.lag.ms", integer, "0", -1, long_max},
    TopicConfig{"remote.log.copy.disable", boolean, "false"},
    TopicConfig{"remote.log.delete.on.disable", boolean, "false"},
    // Every topic is on object storage already; Kafka's own tiers do not exist here.
    TopicConfig{"remote.storage.enable", text, "false", 0, 0, "false"},
    TopicConfig{"retention.bytes", integer, "-1", long_min, long_max},
    TopicConfig{"retention.ms", integer, "604800000", -1, long_max},
    TopicConfig{"segment.bytes", integer, "1073741824", 1, int_max},
    TopicConfig{"segment.index.bytes", integer, "10485760", 4, int_max},
    TopicConfig{"segment.jitter.ms", integer, "0", 0, long_max},
    TopicConfig{"segment.ms", integer, "604800000", 1, long_max},
    TopicConfig{"unclean.leader.election.enable", boolean, "false"},
};

static_assert(std::ranges::is_sorted(configs, {}, &TopicConfig::name));

const TopicConfig* find_config(std::string_view name) {
    const auto* const found = std::ranges::lower_bound(configs, name, {}, &TopicConfig::name);
    return found != configs.end() && found->name == name ? found : nullptr;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole ? std::optional(value) : std::nullopt;
}

/// The next part of a separated list, taken off its front.
std::string_view next_part(std::string_view& list_text, char separator) {
    const std::size_t end = std::min(list_text.find(separator), list_text.size());
    const std::string_view part = list_text.substr(0, end);
    list_text.remove_prefix(std::min(end + 1, list_text.size()));
    return part;
}

bool is_choice(const TopicConfig& config, std::string_view value) {
    for (std::string_view left = config.choices; !left.empty();) {
        if (next_part(left, ' ') == value) {
            return true;
        }
    }
    return config.choices.empty();
}

bool is_valid(const TopicConfig& config, std::string_view value) {
    switch (config.type) {
        case boolean: return value == "true" || value == "false";
        case integer: {
            const auto number = parse_number<std::int64_t>(value);
            return number && config.min <= *number && *number <= config.max;
        }
        case real: {
            const auto number = parse_number<double>(value);
            return number && static_cast<double>(config.min) <= *number &&
                   *number <= static_cast<double>(config.max);
        }
        case text: return is_choice(config, value);
        case list:
            while (!value.empty()) {
                if (!is_choice(config, next_part(value, ','))) {
                    return false;
                }
            }
            return true;
    }
    return false;
}

std::string allowed(const TopicConfig& config) {
    switch (config.type) {
        case boolean: return "true or false";
        case integer:
        case real: return fmt::format("{} to {}", config.min, config.max);
        case text:
        case list: return fmt::format("one of: {}", config.choices);
    }
    return {};
}

}  // namespace

Status check_topic_name(std::string_view name) {
    const auto legal = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    };
    if (name.empty()) {
        return invalid_argument("Topic name is invalid: it must not be empty");
    }
    if (name == "." || name == "..") {
        return invalid_argument("Topic name is invalid: it must not be '.' or '..'");
    }
    if (name.size() > name_bytes_max) {
        return invalid_argument(
            "Topic name is invalid: its length is {}, more than {}", name.size(), name_bytes_max
        );
    }
    if (!std::ranges::all_of(name, legal)) {
        return invalid_argument(
            "Topic name is invalid: only letters, digits, '.', '_' and '-' are allowed"
        );
    }
    return {};
}

bool is_internal_topic(std::string_view name) {
    return name == "__consumer_offsets" || name == "__transaction_state" ||
           name == "__share_group_state";
}

codec::kafka::Uuid topic_id(const catalog::StreamInfo& stream) {
    return codec::kafka::Uuid{.bytes = stream.incarnation};
}

rt::Task<Result<catalog::StreamPtr>> load_topic(
    catalog::Catalog& catalog, std::string name, codec::kafka::Uuid id
) {
    if (!name.empty()) {
        if (!check_topic_name(name).ok()) {
            co_return not_found("no topic has an illegal name");
        }
        co_return co_await catalog.load(
            {.ns = std::string(topic_namespace), .name = std::move(name)}
        );
    }
    if (id.is_zero()) {
        co_return not_found("no topic has an empty name or id");
    }
    Result<catalog::StreamPtr> stream = co_await catalog.load_by_id(id.bytes);
    if (stream.ok() && (*stream)->name.ns != topic_namespace) {
        co_return not_found("topic {}", id.to_string());
    }
    co_return std::move(stream);
}

std::span<const TopicConfig> topic_configs() {
    return configs;
}

Status check_topic_config(std::string_view name, std::string_view value) {
    const TopicConfig* const config = find_config(name);
    if (config == nullptr) {
        return invalid_argument("Unknown topic config name: {}", name);
    }
    if (!is_valid(*config, value)) {
        return invalid_argument(
            "Invalid value {} for configuration {}: allowed is {}", value, name, allowed(*config)
        );
    }
    return {};
}

std::int64_t config_integer(const catalog::Properties& properties, std::string_view name) {
    const TopicConfig* const config = find_config(name);
    LKS_ASSERT(config != nullptr && config->type == integer);
    const auto own = properties.find(std::string(name));
    const auto value =
        own != properties.end() ? parse_number<std::int64_t>(own->second) : std::nullopt;
    return value ? *value : *parse_number<std::int64_t>(config->default_value);
}

}  // namespace lakestream::kafka
