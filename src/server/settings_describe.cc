// SPDX-License-Identifier: Apache-2.0
// Settings as Kafka's DescribeConfigs shows them.
#include <algorithm>
#include <chrono>
#include <type_traits>
#include <variant>

#include "base/assert.h"
#include "base/format.h"
#include "server/settings.h"

namespace lakestream::server {

namespace {

kafka::ConfigType type_of(const Setting& setting, Settings& settings) {
    return std::visit(
        [&]<class T>(T*) {
            if constexpr (std::is_same_v<T, bool>) {
                return kafka::ConfigType::boolean;
            } else if constexpr (std::is_integral_v<T>) {
                // Sizes are shown with their unit.
                return setting.unit == Unit::none ? kafka::ConfigType::int64
                                                  : kafka::ConfigType::text;
            } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
                return kafka::ConfigType::list;
            } else {
                return kafka::ConfigType::text;
            }
        },
        setting.place(settings)
    );
}

/// In Kafka's unit. A part of a minute counts as one: 0 would be something else.
std::string kafka_value(const Setting& setting, Settings settings) {
    const auto place = setting.place(settings);
    if (const auto* const time = std::get_if<Duration*>(&place)) {
        return setting.kafka.name.ends_with(".minutes")
                   ? fmt::format("{}", std::chrono::ceil<std::chrono::minutes>(**time).count())
                   : fmt::format(
                         "{}", std::chrono::ceil<std::chrono::milliseconds>(**time).count()
                     );
    }
    return std::visit(
        [](const auto* value) -> std::string {
            if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(*value)>>) {
                return fmt::format("{}", *value);  // sizes in bytes
            }
            LKS_UNREACHABLE();
        },
        place
    );
}

}  // namespace

std::vector<kafka::BrokerConfig> describe_settings(const Settings& settings) {
    Settings defaults;
    std::vector<kafka::BrokerConfig> described;
    for (const SettingTable& table : setting_tables()) {
        for (const Setting& setting : table.settings) {
            std::string value = show_value(setting, settings);
            const bool is_default = value == show_value(setting, defaults);
            kafka::BrokerConfig config{
                .name = std::string(setting.name),
                .value = std::move(value),
                .type = type_of(setting, defaults),
                .source = is_default ? kafka::ConfigSource::built_in : kafka::ConfigSource::broker,
                .doc = std::string(setting.doc),
            };
            if (!setting.kafka.name.empty()) {
                described.push_back(config);
                described.back().name = setting.kafka.name;
                described.back().value = kafka_value(setting, settings);
                described.back().type = setting.kafka.type;
            }
            described.push_back(std::move(config));
        }
    }
    std::ranges::sort(described, {}, &kafka::BrokerConfig::name);
    return described;
}

}  // namespace lakestream::server
