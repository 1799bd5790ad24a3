// SPDX-License-Identifier: Apache-2.0
// What the APIs about configurations have in common: which resources there are, and what is said
// about others.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

/// Resources with configurations, by their numbers.
enum class ConfigResource : std::int8_t { topic = 2, broker = 4 };

/// Why a resource is refused.
struct ConfigRefusal {
    KafkaError code;
    std::string message;
};

/// A topic by its name.
rt::Task<std::expected<catalog::StreamPtr, ConfigRefusal>> load_config_topic(
    catalog::Catalog& catalog, std::string name
);

/// Whether `name` is this broker's number; the refusal if it is not.
std::optional<ConfigRefusal> check_broker(const Call& call, const std::string& name);

ConfigRefusal unknown_resource(std::int8_t type);

}  // namespace lakestream::kafka
