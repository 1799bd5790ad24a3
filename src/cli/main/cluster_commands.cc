// SPDX-License-Identifier: Apache-2.0
// The noun `cluster`: its commands and their options.
#include "cli/main/command_line.h"

namespace lakestream::cli {

void add_cluster(CommandLine& line) {
    CLI::App& cluster = line.noun("cluster", "Who is there, and how it is");
    using OfBroker = Status (*)(const std::string&, RecordFormat);
    const auto add = [&](const std::string& name, const std::string& help, OfBroker command) {
        CLI::App& one =
            line.command(cluster, name, {.help = help, .examples = {"cluster " + name}});
        line.add_bootstrap(one);
        line.add_format(one);
        line.act(one, [&line, command] {
            return exit_of(command(line.bootstrap(), line.format()));
        });
    };
    add("info", "Brokers and the cluster's id", cluster_info);
    add("metadata", "Partitions of all topics, as clients see them", cluster_metadata);
    add("apis", "Kafka APIs that the broker serves", cluster_apis);

    CLI::App& health = line.command(
        cluster,
        "health",
        {.help = "Whether a node is ready, and why not; 1 when it is not",
         .examples = {"cluster health --http 127.0.0.1:9644"}}
    );
    line.add_http(health);
    line.add_format(health);
    line.act(health, [&] { return cluster_health(line.http(), line.format()); });

    CLI::App& status = line.command(
        cluster,
        "status",
        {.help = "What a node is doing",
         .examples = {"cluster status", "cluster status --format json"}}
    );
    line.add_http(status);
    line.add_format(status);
    line.act(status, [&] { return exit_of(cluster_status(line.http(), line.format())); });
}

}  // namespace lakestream::cli
