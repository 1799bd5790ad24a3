// SPDX-License-Identifier: Apache-2.0
// Broker configurations: the settings of this broker as Kafka's tools read them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kafka/cluster.h"
#include "kafka/topic_configs.h"

namespace lakestream::kafka {

/// One, which does not change while the broker runs.
struct BrokerConfig {
    std::string name;
    std::optional<std::string> value;
    ConfigType type = ConfigType::text;
    ConfigSource source = ConfigSource::built_in;
    std::string doc = {};
};

/// All that tools may ask a broker for, by name: `settings`, who it is, and the defaults of topics.
std::vector<BrokerConfig> broker_configs(
    const Cluster& cluster, std::span<const BrokerConfig> settings
);

/// Null when there is none of this name.
const BrokerConfig* find_broker_config(
    std::span<const BrokerConfig> settings, std::string_view name
);

/// What a topic that does not say has. Valid as long as the settings.
struct TopicDefault {
    std::optional<std::string_view> value;  // none: null
    ConfigSource source;
};

/// That of the setting with the configuration's `broker_name`, or Kafka's.
TopicDefault topic_default(std::span<const BrokerConfig> settings, const TopicConfig& config);

}  // namespace lakestream::kafka
