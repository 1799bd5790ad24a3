// SPDX-License-Identifier: Apache-2.0
// Settings as Kafka's DescribeConfigs shows them.
#include <algorithm>
#include <type_traits>
#include <variant>

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

}  // namespace

std::vector<kafka::BrokerConfig> describe_settings(const Settings& settings) {
    Settings defaults;
    std::vector<kafka::BrokerConfig> described;
    for (const SettingTable& table : setting_tables()) {
        for (const Setting& setting : table.settings) {
            std::string value = show_value(setting, settings);
            const bool is_default = value == show_value(setting, defaults);
            described.push_back({
                .name = std::string(setting.name),
                .value = std::move(value),
                .type = type_of(setting, defaults),
                .source = is_default ? kafka::ConfigSource::built_in : kafka::ConfigSource::broker,
                .doc = std::string(setting.doc),
            });
        }
    }
    std::ranges::sort(described, {}, &kafka::BrokerConfig::name);
    return described;
}

}  // namespace lakestream::server
