// SPDX-License-Identifier: Apache-2.0
// dev and server: a node in this process; settings: their table as a page.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/log.h"
#include "cli/main/command_line.h"
#include "cli/text.h"
#include "server/process.h"

namespace lakestream::cli {

namespace {

/// What was given on the command line.
struct Given {
    std::string config;
    std::map<const server::Setting*, std::string> flags;
};

/// What differs in `lakestream dev`, but for its folder.
server::Settings dev_defaults() {
    server::Settings settings;
    settings.node.compact.tables_default = true;
    settings.node.compact.table_interval = 5s;
    return settings;
}

std::string help_of(const server::Setting& setting, const server::Settings& defaults) {
    const std::string value = server::show_value(setting, defaults);
    return fmt::format(
        "{} {}{}",
        setting.doc,
        server::describe_type(setting),
        value.empty() ? "" : fmt::format(" [{}]", value)
    );
}

void add_flags(CLI::App& command, Given& given, const server::Settings& defaults) {
    for (const server::SettingTable& table : server::setting_tables()) {
        for (const server::Setting& setting : table.settings) {
            command
                .add_option_function<std::string>(
                    server::flag_name(setting),
                    [&given, &setting](const std::string& text) { given.flags[&setting] = text; },
                    help_of(setting, defaults)
                )
                ->take_last()
                ->group(table.module.empty() ? "node" : std::string(table.module));
        }
    }
}

/// Defaults, then file, environment, flags: later ones win.
Result<server::Settings> load_settings(
    server::Settings settings, const Given& given, const std::vector<std::string>& environment
) {
    std::vector<server::Assignment> all;
    if (!given.config.empty()) {
        // One byte more shows that there are too many.
        const std::string text = LKS_TRY(read_file(given.config, server::toml_bytes_max + 1));
        all = LKS_TRY(server::read_toml(text, given.config));
    }
    auto variables = LKS_TRY(server::read_environment(environment));
    all.insert(all.end(), variables.begin(), variables.end());
    for (const auto& [setting, text] : given.flags) {
        all.push_back({.setting = setting, .text = text, .origin = server::flag_name(*setting)});
    }
    LKS_TRY(server::apply_settings(all, settings));
    LKS_TRY(server::check_process_roles(settings.node));
    return settings;
}

/// `tables`: the folder of the tables that this node makes; empty: it makes none.
void say_what_to_try(const server::Node& node, bool http, const std::string& tables) {
    const std::string broker = node.kafka_address().to_string();
    const std::string where =
        http ? fmt::format(", HTTP on {}", node.http_address().to_string()) : "";
    const std::string table =
        tables.empty()
            ? ""
            : fmt::format(
                  "Some seconds later the record is a row of an Iceberg table as well:\n\n"
                  "    {0}/default/first\n"
                  "    tools/demo/sql.py \"SELECT kafka_offset, decode(value) FROM "
                  "iceberg_scan('{0}/default/first')\"\n\n",
                  tables
              );
    const Status said = put_line(fmt::format(
        "Lakestream serves Kafka on {0}{1}. In another terminal:\n\n"
        "    echo hello | kcat -P -b {0} -t first                 # write a record\n"
        "    kcat -C -b {0} -t first -o beginning -e              # read it back\n"
        "    kcat -L -b {0}                                       # topics and partitions\n\n"
        "{2}Control-C stops it.",
        broker,
        where,
        table
    ));
    if (!said.ok()) {
        log::warn("cli", "stdout_failed error={}", said.error());
    }
    static_cast<void>(flush_lines());  // the node serves all the same
}

/// The folder of the tables that topics have by themselves; empty: they have none.
std::string tables_of(const server::Settings& settings) {
    if (!settings.node.has_role("compactor") || !settings.node.compact.tables_default) {
        return "";
    }
    const auto folder = server::folder_of("storage", settings.storage, "file");
    return folder.ok() ? fmt::format("{}/tables", *folder) : "";
}

/// A setting that is wrong is wrong usage.
Exit refuse(const Error& error) {
    complain(error.message);
    return Exit::usage;
}

/// Of the environment; empty when it is not set.
std::string variable(const std::vector<std::string>& environment, std::string_view name) {
    const std::string begin = fmt::format("{}=", name);
    const auto found = std::ranges::find_if(environment, [&](const std::string& each) {
        return each.starts_with(begin);
    });
    return found == environment.end() ? "" : found->substr(begin.size());
}

Result<Exit> serve(const CommandLine& line, const Given& given, bool dev) {
    server::hold_signals();
    server::Settings defaults;
    if (dev) {
        defaults = dev_defaults();
        if (const Status used = server::use_data_dir(defaults, line.data_dir()); !used.ok()) {
            return refuse(used.error());
        }
    }
    const auto settings = load_settings(defaults, given, line.environment());
    if (!settings.ok()) {
        return refuse(settings.error());
    }
    const server::Supervisor supervisor(variable(line.environment(), "NOTIFY_SOCKET"));
    return exit_of(server::run(*settings, supervisor, [&](const server::Node& node) {
        if (dev && settings->node.has_role("broker")) {
            say_what_to_try(node, !settings->node.http_listen.empty(), tables_of(*settings));
        }
    }));
}

}  // namespace

void add_server(CommandLine& line) {
    Given& given = line.make<Given>();
    CLI::App& dev = line.command(
        "dev",
        {.help = "Run a broker with its data in one folder",
         .examples = {"dev", "dev --data-dir /var/lib/lakestream --kafka-listen 127.0.0.1:9092"}}
    );
    line.add_data_dir(dev, "Where everything is stored");
    add_flags(dev, given, dev_defaults());
    line.act(dev, [&] { return serve(line, given, true); });

    CLI::App& server = line.command(
        "server",
        {.help = "Run a node as a file of settings says",
         .examples = {"server --config /etc/lakestream/lakestream.toml"}}
    );
    server.add_option("--config", given.config, "TOML file; docs/config.md has the keys");
    add_flags(server, given, {});
    line.act(server, [&] { return serve(line, given, false); });
}

}  // namespace lakestream::cli
