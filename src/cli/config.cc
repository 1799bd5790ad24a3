// SPDX-License-Identifier: Apache-2.0
// config list, get, set, unset: what topics and brokers are configured to do.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "cli/session.h"
#include "cli/topic_info.h"
#include "codec/kafka/gen/describe_configs.h"
#include "codec/kafka/gen/incremental_alter_configs.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;
using nlohmann::json;

namespace {

// Kafka's numbers of what has a configuration, and of what is done to one.
constexpr std::int8_t topic_resource = 2;
constexpr std::int8_t broker_resource = 4;
constexpr std::int8_t set_operation = 0;
constexpr std::int8_t delete_operation = 1;

std::int8_t resource_type(const ConfigOwner& owner) {
    return owner.topic.empty() ? broker_resource : topic_resource;
}

std::string resource_name(const ConfigOwner& owner) {
    return !owner.topic.empty()       ? owner.topic
           : owner.broker.has_value() ? std::to_string(*owner.broker)
                                      : "";
}

Status check_owner(
    kafka::ErrorCode code, const std::optional<std::string>& message, const ConfigOwner& owner
) {
    if (!owner.topic.empty()) {
        return check_topic(code, message, owner.topic);
    }
    return check_code(code, fmt::format("broker {}", resource_name(owner)), message);
}

/// Where a value comes from, as people say it.
std::string_view source_name(std::int8_t source) {
    switch (source) {
        case 1: return "topic";
        case 2: return "broker";
        case 3: return "all brokers";
        case 4: return "settings";
        case 5: return "default";
        default: return "unknown";
    }
}

rt::Task<Status> list(
    Broker& broker,
    const ConfigOwner& owner,
    const std::vector<std::string>& names,
    RecordFormat format
) {
    kafka::DescribeConfigsRequest request;
    auto& asked = request.resources.emplace_back();
    asked.resource_type = resource_type(owner);
    asked.resource_name = resource_name(owner);
    asked.configuration_keys = std::nullopt;  // all, so that a wrong name has neighbours
    auto response =
        LKS_CO_TRY(co_await broker.call<kafka::DescribeConfigsResponse>(std::move(request)));
    Rows rows(format, {"name", "value", "source", "read_only"});
    std::vector<std::string> known;
    for (auto& result : response.results) {
        LKS_CO_TRY(check_owner(result.error_code, result.error_message, owner));
        std::ranges::sort(result.configs, {}, [](const auto& config) { return config.name; });
        for (const auto& config : result.configs) {
            known.push_back(config.name);
            if (!names.empty() && std::ranges::find(names, config.name) == names.end()) {
                continue;
            }
            const json value = config.is_sensitive ? json("(hidden)")
                               : config.value      ? json(*config.value)
                                                   : json(nullptr);
            LKS_CO_TRY(
                rows.add({config.name, value, source_name(config.config_source), config.read_only})
            );
        }
    }
    for (const std::string& name : names) {
        if (std::ranges::find(known, name) == known.end()) {
            const auto near = server::nearest(name, known);
            co_return invalid_argument(
                "there is no configuration {}{}",
                name,
                near ? fmt::format("; the nearest is {}", *near)
                     : std::string(": see `lakestream config list`")
            );
        }
    }
    co_return rows.finish();
}

rt::Task<Status> change(Broker& broker, const ConfigOwner& owner, const ConfigChange& wanted) {
    kafka::IncrementalAlterConfigsRequest request;
    request.validate_only = wanted.dry_run;
    auto& resource = request.resources.emplace_back();
    resource.resource_type = resource_type(owner);
    resource.resource_name = resource_name(owner);
    for (const std::string& text : wanted.set) {
        auto [name, value] = LKS_CO_TRY(parse_config(text));
        resource.configs.push_back(
            {.name = std::move(name), .config_operation = set_operation, .value = std::move(value)}
        );
    }
    for (const std::string& name : wanted.unset) {
        resource.configs.push_back(
            {.name = name, .config_operation = delete_operation, .value = std::nullopt}
        );
    }
    const auto asked = resource.configs;
    const auto response =
        LKS_CO_TRY(co_await broker.call<kafka::IncrementalAlterConfigsResponse>(std::move(request))
        );
    for (const auto& done : response.responses) {
        LKS_CO_TRY(check_owner(done.error_code, done.error_message, owner));
    }
    Rows changes(wanted.format, {"name", "value", "changed"});
    for (const auto& config : asked) {
        LKS_CO_TRY(changes.add(
            {config.name, config.value ? json(*config.value) : json(nullptr), !wanted.dry_run}
        ));
    }
    co_return Status();
}

}  // namespace

Status config_list(
    const std::string& bootstrap,
    const ConfigOwner& owner,
    const std::vector<std::string>& names,
    RecordFormat format
) {
    return on_broker(bootstrap, list, owner, names, format);
}

Status config_change(
    const std::string& bootstrap, const ConfigOwner& owner, const ConfigChange& change_wanted
) {
    return on_broker(bootstrap, change, owner, change_wanted);
}

}  // namespace lakestream::cli
