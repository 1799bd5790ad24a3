// SPDX-License-Identifier: Apache-2.0
// The noun `config`: its commands and their options.
#include "cli/main/command_line.h"

namespace lakestream::cli {

namespace {

/// Whose configuration a command is about, and which part of it.
struct ConfigAsked {
    ConfigOwner owner;
    bool all_brokers = false;
    std::vector<std::string> names;  // or NAME=VALUE
    ConfigChange change;
};

CLI::App& config_command(
    CommandLine& line,
    CLI::App& config,
    const std::string& name,
    ConfigAsked& asked,
    const About& about
) {
    CLI::App& added = line.command(config, name, about);
    line.add_bootstrap(added);
    CLI::Option_group& owner = *added.add_option_group("whose", "One of");
    owner.add_option("--topic", asked.owner.topic, "Of this topic");
    not_negative(owner.add_option("--broker", asked.owner.broker, "Of the broker with this id"));
    owner.add_flag("--all-brokers", asked.all_brokers, "What holds for all brokers");
    owner.require_option(1);
    return added;
}

}  // namespace

void add_config(CommandLine& line) {
    CLI::App& config = line.noun("config", "What topics and brokers are configured to do");
    ConfigAsked& asked = line.make<ConfigAsked>();

    CLI::App& list = config_command(
        line,
        config,
        "list",
        asked,
        {.help = "All configurations, their values and where these come from",
         .examples = {"config list --topic orders", "config list --broker 0 --format json"}}
    );
    line.add_format(list);
    const auto print = [&] {
        return exit_of(config_list(line.bootstrap(), asked.owner, asked.names, line.format()));
    };
    line.act(list, print);

    CLI::App& get = config_command(
        line,
        config,
        "get",
        asked,
        {.help = "Some configurations", .examples = {"config get --topic orders retention.ms"}}
    );
    line.add_format(get);
    get.add_option("name", asked.names, "NAME, may be repeated")->required();
    line.act(get, print);

    CLI::App& set = config_command(
        line,
        config,
        "set",
        asked,
        {.help = "Change configurations",
         .examples = {"config set --topic orders retention.ms=86400000 max.message.bytes=2097152"}}
    );
    parsed_by<&parse_config>(
        set.add_option("config", asked.change.set, "NAME=VALUE, may be repeated")->required()
    );
    CLI::App& unset = config_command(
        line,
        config,
        "unset",
        asked,
        {.help = "Put configurations back to their defaults",
         .examples = {"config unset --topic orders retention.ms"}}
    );
    unset.add_option("name", asked.change.unset, "NAME, may be repeated")->required();
    for (CLI::App* change : {&set, &unset}) {
        change->add_flag("--dry-run", asked.change.dry_run, "Only ask whether the broker would");
        line.add_format(*change);
        line.act(*change, [&] {
            asked.change.format = line.format();
            return exit_of(config_change(line.bootstrap(), asked.owner, asked.change));
        });
    }
}

}  // namespace lakestream::cli
