// SPDX-License-Identifier: Apache-2.0
// Changes of a topic's configurations, as pure functions on its properties.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "catalog/catalog.h"

namespace lakestream::kafka {

/// Operations of IncrementalAlterConfigs, by their numbers.
enum class ConfigOperation : std::int8_t { set = 0, remove = 1, append = 2, subtract = 3 };

struct ConfigChange {
    std::string name;
    ConfigOperation operation = ConfigOperation::set;
    std::optional<std::string> value = {};
};

/// Whether the changes of one topic can be made of any properties. Errors: `invalid_argument`
/// (unknown operation, no value, a configuration named twice).
Status check_changes(std::span<const ConfigChange> changes);

/// The properties after the changes. Those that are no topic configurations stay. Precondition:
/// checked. Errors: `invalid_argument`, as parse_topic_config() and check_topic_configs().
Result<catalog::Properties> apply_changes(
    const catalog::Properties& properties, std::span<const ConfigChange> changes
);

/// The properties whose topic configurations are only these. Errors: as apply_changes().
Result<catalog::Properties> replace_configs(
    const catalog::Properties& properties, const catalog::Properties& configs
);

}  // namespace lakestream::kafka
