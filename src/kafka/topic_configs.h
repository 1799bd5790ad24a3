// SPDX-License-Identifier: Apache-2.0
// Topic configurations: what Kafka knows, what it is checked for, and what it means here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"

namespace lakestream::kafka {

/// Types of configurations, by their numbers in DescribeConfigs.
enum class ConfigType : std::int8_t {
    boolean = 1,
    text = 2,
    int32 = 3,
    int64 = 5,
    real = 6,
    list = 7,
};

/// Where a value comes from, by its number in DescribeConfigs.
enum class ConfigSource : std::int8_t {
    topic = 1,
    broker = 4,  // its settings, which do not change while it runs
    built_in = 5,
};

/// One topic configuration: a row of docs/topic-configs.md.
struct TopicConfig {
    /// Whether the value changes anything here.
    enum class Effect : std::uint8_t { in_effect, none };

    std::string_view name;
    ConfigType type;
    std::optional<std::string_view> default_value;  // none: null
    std::int64_t min = std::numeric_limits<std::int64_t>::min();
    std::int64_t max = std::numeric_limits<std::int64_t>::max();
    std::string_view choices = {};      // of text and lists, separated by ", "; empty: any
    std::string_view refused = {};      // a value that Kafka takes and that is refused here
    std::string_view reason = {};       // why
    std::string_view broker_name = {};  // the broker configuration whose default it has in Kafka
    Effect effect = Effect::none;
    std::string_view doc;  // one sentence or two
};

/// All of Kafka 4.4 and ours, by name.
std::span<const TopicConfig> topic_configs();
/// Null when there is none of this name.
const TopicConfig* find_topic_config(std::string_view name);

/// The value as it is stored: without blanks around it, words in small letters, lists without
/// repetitions. Errors: `invalid_argument`, naming the configuration, the value and what is
/// allowed, in Kafka's words.
Result<std::string> parse_topic_config(std::string_view name, std::string_view value);

/// Whether values that are valid alone go together. Errors: `invalid_argument`.
Status check_topic_configs(const catalog::Properties& properties);

/// Parse every property, then check all together. Errors: as both.
Result<catalog::Properties> parse_topic_configs(const catalog::Properties& properties);

/// The entries of a list.
std::vector<std::string> config_list(std::string_view value);

/// A topic's own value, or the default; none when that is null. Valid as long as the properties.
std::optional<std::string_view> config_value(
    const catalog::Properties& properties, const TopicConfig& config
);

/// Of an integer configuration. A value that is none, written by others, counts as the default.
std::int64_t config_integer(const catalog::Properties& properties, std::string_view name);

/// Of a text or list configuration that has a default.
std::string_view config_text(const catalog::Properties& properties, std::string_view name);

}  // namespace lakestream::kafka
