// SPDX-License-Identifier: Apache-2.0
// Broker configurations: the settings of this broker as Kafka's tools read them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kafka/cluster.h"
#include "kafka/options.h"
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

/// By Kafka's names, in their order: what tools ask a broker for, and the defaults of topics.
std::vector<BrokerConfig> kafka_broker_configs(
    const Cluster& cluster, const ServerOptions& options
);

}  // namespace lakestream::kafka
