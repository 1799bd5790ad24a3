// SPDX-License-Identifier: Apache-2.0
// Checks topic configurations in Kafka's words, and reads their values.
#include "kafka/topic_configs.h"

#include <algorithm>
#include <charconv>
#include <type_traits>
#include <vector>

namespace lakestream::kafka {

namespace {

using enum ConfigType;

constexpr std::string_view throttled_replicas_end = ".replication.throttled.replicas";

std::string_view trim(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n\f\v";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == text.npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    if (text.starts_with('+') && !text.starts_with("+-")) {
        text.remove_prefix(1);
    }
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
    return trim(part);
}

bool is_choice(const TopicConfig& config, std::string_view value) {
    for (std::string_view left = config.choices; !left.empty();) {
        if (next_part(left, ',') == value) {
            return true;
        }
    }
    return config.choices.empty();
}

Error invalid(const TopicConfig& config, std::string_view value, std::string_view why) {
    return invalid_argument("Invalid value {} for configuration {}: {}", value, config.name, why);
}

std::string_view type_name(ConfigType type) {
    switch (type) {
        case boolean: return "BOOLEAN";
        case text: return "STRING";
        case int32: return "INT";
        case int64: return "LONG";
        case real: return "DOUBLE";
        case list: return "LIST";
    }
    return "";
}

template <class Number>
Result<std::string> parse_in_range(const TopicConfig& config, std::string_view value) {
    const auto number = parse_number<Number>(value);
    if (!number.has_value()) {
        return invalid(
            config, value, fmt::format("Not a number of type {}", type_name(config.type))
        );
    }
    // Kafka's one range with a hole: 0 is no level, and -1 is "the default".
    if (config.name == "compression.gzip.level" && (*number == 0 || *number > 9)) {
        return invalid(config, value, "Value must be between 1 and 9 or equal to -1");
    }
    using Wide = std::conditional_t<std::is_integral_v<Number>, std::int64_t, Number>;
    if (!(Wide(*number) >= static_cast<Wide>(config.min))) {  // NaN is in no range
        return invalid(config, value, fmt::format("Value must be at least {}", config.min));
    }
    if (Wide(*number) > static_cast<Wide>(config.max)) {
        return invalid(config, value, fmt::format("Value must be no more than {}", config.max));
    }
    return std::string(value.starts_with('+') ? value.substr(1) : value);
}

/// `3:1`: a partition and a broker.
bool is_replica(std::string_view text) {
    const auto is_number = [](std::string_view part) {
        return !part.empty() &&
               std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    };
    const std::size_t colon = text.find(':');
    return colon != text.npos && is_number(text.substr(0, colon)) &&
           is_number(text.substr(colon + 1));
}

Result<std::string> parse_list(const TopicConfig& config, std::string_view value) {
    const std::vector<std::string> parts = config_list(value);
    for (const std::string& part : parts) {
        if (config.name.ends_with(throttled_replicas_end) && !is_replica(part) &&
            !(part == "*" && parts.size() == 1)) {
            return invalid(
                config,
                value,
                "it must be the literal '*' or a list of replicas in the following format: "
                "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
            );
        }
        if (!is_choice(config, part)) {
            return invalid(config, value, fmt::format("String must be one of: {}", config.choices));
        }
        if (part == config.refused) {
            return invalid(config, value, config.reason);
        }
    }
    return fmt::format("{}", fmt::join(parts, ","));
}

Result<std::string> parse_boolean(const TopicConfig& config, std::string_view value) {
    std::string lower(value);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (lower != "true" && lower != "false") {
        return invalid(config, value, "Expected value to be either true or false");
    }
    if (lower == config.refused) {
        return invalid(config, value, config.reason);
    }
    return lower;
}

}  // namespace

std::vector<std::string> config_list(std::string_view value) {
    std::vector<std::string> parts;
    for (value = trim(value); !value.empty();) {
        const std::string_view part = next_part(value, ',');
        if (std::ranges::find(parts, part) == parts.end()) {
            parts.emplace_back(part);
        }
    }
    return parts;
}

Result<std::string> parse_topic_config(std::string_view name, std::string_view value) {
    const TopicConfig* const config = find_topic_config(name);
    if (config == nullptr) {
        return invalid_argument("Unknown topic config name: {}", name);
    }
    value = trim(value);
    switch (config->type) {
        case boolean: return parse_boolean(*config, value);
        case text:
            if (!is_choice(*config, value)) {
                return invalid(
                    *config, value, fmt::format("String must be one of: {}", config->choices)
                );
            }
            return std::string(value);
        case int32: return parse_in_range<std::int32_t>(*config, value);
        case int64: return parse_in_range<std::int64_t>(*config, value);
        case real: return parse_in_range<double>(*config, value);
        case list: return parse_list(*config, value);
    }
    LKS_UNREACHABLE();
}

Status check_topic_configs(const catalog::Properties& properties) {
    const std::int64_t lag_min = config_integer(properties, "min.compaction.lag.ms");
    const std::int64_t lag_max = config_integer(properties, "max.compaction.lag.ms");
    if (lag_min > lag_max) {
        return invalid_argument(
            "conflict topic config setting min.compaction.lag.ms ({}) > max.compaction.lag.ms ({})",
            lag_min,
            lag_max
        );
    }
    return {};
}

Result<catalog::Properties> parse_topic_configs(const catalog::Properties& properties) {
    catalog::Properties parsed;
    for (const auto& [name, value] : properties) {
        parsed[name] = LKS_TRY(parse_topic_config(name, value));
    }
    LKS_TRY(check_topic_configs(parsed));
    return parsed;
}

std::optional<std::string_view> config_value(
    const catalog::Properties& properties, const TopicConfig& config
) {
    if (properties.empty()) {
        return config.default_value;
    }
    const auto own = properties.find(std::string(config.name));
    return own != properties.end() ? std::optional<std::string_view>(own->second)
                                   : config.default_value;
}

std::int64_t config_integer(const catalog::Properties& properties, std::string_view name) {
    const TopicConfig* const config = find_topic_config(name);
    LKS_ASSERT(config != nullptr && config->default_value.has_value());
    const auto value = parse_number<std::int64_t>(*config_value(properties, *config));
    return value.has_value() ? *value : *parse_number<std::int64_t>(*config->default_value);
}

std::string_view config_text(const catalog::Properties& properties, std::string_view name) {
    const TopicConfig* const config = find_topic_config(name);
    LKS_ASSERT(config != nullptr && config->default_value.has_value());
    return *config_value(properties, *config);
}

}  // namespace lakestream::kafka
