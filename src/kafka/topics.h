// SPDX-License-Identifier: Apache-2.0
// Topics: Kafka's view of the catalog's streams: names, ids, configurations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"
#include "codec/kafka/uuid.h"
#include "rt/task.h"

namespace lakestream::kafka {

/// The namespace of the streams that are Kafka topics.
inline constexpr std::string_view topic_namespace = "default";

/// Kafka's rules: 1 to 249 of [A-Za-z0-9._-], and neither "." nor "..". Errors: `invalid_argument`.
Status check_topic_name(std::string_view name);

/// Topics that Kafka keeps for itself.
bool is_internal_topic(std::string_view name);

codec::kafka::Uuid topic_id(const catalog::StreamInfo& stream);

/// By name, or by id when the name is empty and the id is not zero. Errors: of Catalog::load.
rt::Task<Result<catalog::StreamPtr>> load_topic(
    catalog::Catalog& catalog, std::string name, codec::kafka::Uuid id
);

/// One topic configuration that Kafka knows.
struct TopicConfig {
    enum class Type : std::uint8_t { boolean, integer, real, text, list };

    std::string_view name;
    Type type;
    std::string_view default_value;
    std::int64_t min = 0;  // of integers and reals
    std::int64_t max = 0;
    std::string_view choices = {};  // of text and lists, separated by spaces; empty: any
};

/// All of them, by name.
std::span<const TopicConfig> topic_configs();

/// Whether a topic may be created with this configuration. Errors: `invalid_argument`, naming the
/// configuration and what is allowed.
Status check_topic_config(std::string_view name, std::string_view value);

/// A topic's own value of an integer configuration, or the default.
std::int64_t config_integer(const catalog::Properties& properties, std::string_view name);

}  // namespace lakestream::kafka
