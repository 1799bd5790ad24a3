// SPDX-License-Identifier: Apache-2.0
// Kafka's names for this broker's settings.
#include "kafka/broker_configs.h"

#include <algorithm>
#include <chrono>
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

void add_limits(const ServerOptions& options, std::vector<BrokerConfig>& out) {
    const auto number = [](auto value) { return fmt::format("{}", value); };
    const auto idle =
        std::chrono::duration_cast<std::chrono::milliseconds>(options.connection.idle_max).count();
    out.push_back(said(
        "auto.create.topics.enable",
        number(options.broker.auto_create_topics),
        boolean,
        "Whether asking for a topic creates it."
    ));
    out.push_back(said(
        "num.partitions",
        number(options.broker.partitions_default),
        int32,
        "Partitions of a topic whose creator does not say."
    ));
    out.push_back(said(
        "fetch.max.bytes",
        number(options.broker.fetch_bytes_max),
        int32,
        "Most bytes of records in one fetch response."
    ));
    out.push_back(said(
        "socket.request.max.bytes",
        number(options.connection.request_bytes_max),
        int32,
        "Largest request."
    ));
    out.push_back(said(
        "connections.max.idle.ms", number(idle), int64, "A silent connection is closed after this."
    ));
    out.push_back(
        said("max.connections", number(options.connections_max), int32, "Most connections.")
    );
}

}  // namespace

std::vector<BrokerConfig> kafka_broker_configs(
    const Cluster& cluster, const ServerOptions& options
) {
    std::vector<BrokerConfig> out;
    add_identity(cluster, out);
    add_limits(options, out);
    out.push_back(
        fixed("default.replication.factor", "1", int32, "Storage replicates; brokers copy nothing.")
    );
    out.push_back(fixed("delete.topic.enable", "true", boolean, "Topics can be deleted."));
    for (const TopicConfig& config : topic_configs()) {
        const bool ours = config.name.starts_with("lakestream.");
        if (!ours && !config.broker_name.empty() && config.default_value.has_value()) {
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

}  // namespace lakestream::kafka
