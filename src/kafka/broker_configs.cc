// SPDX-License-Identifier: Apache-2.0
// What a broker says of itself, and what topics get from it.
#include "kafka/broker_configs.h"

#include <algorithm>
#include <utility>

namespace lakestream::kafka {

namespace {

using enum ConfigType;

const BrokerIdentity* find_self(const Cluster& cluster) {
    const auto self = std::ranges::find(cluster.brokers, cluster.self, &BrokerIdentity::id);
    return self == cluster.brokers.end() ? nullptr : &*self;
}

/// One that the settings say.
BrokerConfig said(std::string name, std::string value, ConfigType type, std::string doc) {
    return {std::move(name), std::move(value), type, ConfigSource::broker, std::move(doc)};
}

/// One that cannot be otherwise.
BrokerConfig fixed(std::string name, std::string value, ConfigType type, std::string doc) {
    return {std::move(name), std::move(value), type, ConfigSource::built_in, std::move(doc)};
}

void add_identity(const Cluster& cluster, std::vector<BrokerConfig>& out) {
    const std::string id = std::to_string(cluster.self);
    out.push_back(said("broker.id", id, int32, "Number of this broker."));
    out.push_back(said("node.id", id, int32, "Number of this broker."));
    if (const BrokerIdentity* self = find_self(cluster)) {
        out.push_back(said(
            "advertised.listeners",
            fmt::format("PLAINTEXT://{}", self->address.to_string()),
            list,
            "Where clients are told to connect."
        ));
        out.push_back({"broker.rack", self->rack, text, ConfigSource::broker, "Availability zone."}
        );
    }
}

}  // namespace

std::vector<BrokerConfig> broker_configs(
    const Cluster& cluster, std::span<const BrokerConfig> settings
) {
    std::vector<BrokerConfig> out(settings.begin(), settings.end());
    add_identity(cluster, out);
    out.push_back(
        fixed("default.replication.factor", "1", int32, "Storage replicates; brokers copy nothing.")
    );
    out.push_back(fixed("delete.topic.enable", "true", boolean, "Topics can be deleted."));
    for (const TopicConfig& config : topic_configs()) {
        const bool ours = config.name.starts_with("lakestream.");
        if (!ours && !config.broker_name.empty() && config.default_value.has_value() &&
            find_broker_config(settings, config.broker_name) == nullptr) {
            out.push_back(fixed(
                std::string(config.broker_name),
                std::string(*config.default_value),
                config.type,
                std::string(config.doc)
            ));
        }
    }
    std::ranges::sort(out, {}, &BrokerConfig::name);
    return out;
}

const BrokerConfig* find_broker_config(
    std::span<const BrokerConfig> settings, std::string_view name
) {
    const auto found = std::ranges::find(settings, name, &BrokerConfig::name);
    return found == settings.end() ? nullptr : &*found;
}

TopicDefault topic_default(std::span<const BrokerConfig> settings, const TopicConfig& config) {
    const BrokerConfig* const setting =
        config.broker_name.empty() ? nullptr : find_broker_config(settings, config.broker_name);
    if (setting != nullptr) {
        return {setting->value, setting->source};
    }
    return {config.default_value, ConfigSource::built_in};
}

}  // namespace lakestream::kafka
