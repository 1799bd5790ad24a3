// SPDX-License-Identifier: Apache-2.0
// Applies changes of configurations as Kafka does.
#include "kafka/config_changes.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "kafka/topic_configs.h"

namespace lakestream::kafka {

namespace {

/// The list after entries were added or taken away.
std::string changed_list(std::string_view now, const ConfigChange& change) {
    std::vector<std::string> parts = config_list(now);
    for (const std::string& part : config_list(*change.value)) {
        const auto found = std::ranges::find(parts, part);
        if (change.operation == ConfigOperation::append && found == parts.end()) {
            parts.push_back(part);
        } else if (change.operation == ConfigOperation::subtract && found != parts.end()) {
            parts.erase(found);
        }
    }
    return fmt::format("{}", fmt::join(parts, ","));
}

Result<std::string> new_list(const catalog::Properties& properties, const ConfigChange& change) {
    const TopicConfig* const config = find_topic_config(change.name);
    if (config == nullptr) {
        return invalid_argument("Unknown topic config name: {}", change.name);
    }
    if (config->type != ConfigType::list) {
        return invalid_argument(
            "Can't {} to key {} because its type is not LIST.",
            change.operation == ConfigOperation::append ? "APPEND" : "SUBTRACT",
            change.name
        );
    }
    return parse_topic_config(
        change.name, changed_list(config_value(properties, *config).value_or(""), change)
    );
}

Status apply(catalog::Properties& properties, const ConfigChange& change) {
    switch (change.operation) {
        case ConfigOperation::set:
            properties[change.name] = LKS_TRY(parse_topic_config(change.name, *change.value));
            return {};
        case ConfigOperation::remove:
            // What is no topic configuration is not the client's to remove; Kafka says nothing
            // when there is nothing to remove.
            if (find_topic_config(change.name) != nullptr) {
                properties.erase(change.name);
            }
            return {};
        case ConfigOperation::append:
        case ConfigOperation::subtract:
            properties[change.name] = LKS_TRY(new_list(properties, change));
            return {};
    }
    LKS_UNREACHABLE();
}

}  // namespace

Status check_changes(std::span<const ConfigChange> changes) {
    std::set<std::string> names;
    for (const ConfigChange& change : changes) {
        if (change.operation < ConfigOperation::set ||
            change.operation > ConfigOperation::subtract) {
            return invalid_argument(
                "Unknown operation {} for config {}",
                static_cast<int>(change.operation),
                change.name
            );
        }
        if (change.operation != ConfigOperation::remove && !change.value.has_value()) {
            return invalid_argument("Null value not supported for : {}", change.name);
        }
        if (!names.insert(change.name).second) {
            return invalid_argument("Error due to duplicate config keys: {}", change.name);
        }
    }
    return {};
}

Result<catalog::Properties> apply_changes(
    const catalog::Properties& properties, std::span<const ConfigChange> changes
) {
    catalog::Properties changed = properties;
    for (const ConfigChange& change : changes) {
        LKS_TRY(apply(changed, change));
    }
    LKS_TRY(check_topic_configs(changed));
    return changed;
}

Result<catalog::Properties> replace_configs(
    const catalog::Properties& properties, const catalog::Properties& configs
) {
    catalog::Properties replaced = LKS_TRY(parse_topic_configs(configs));
    for (const auto& [name, value] : properties) {
        if (find_topic_config(name) == nullptr) {
            replaced.emplace(name, value);
        }
    }
    return replaced;
}

}  // namespace lakestream::kafka
