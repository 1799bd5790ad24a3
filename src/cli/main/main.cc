// SPDX-License-Identifier: Apache-2.0
// The command line: which command, with which options. All else is in the commands.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "server/log_sink.h"
#include "server/process.h"

namespace lakestream::cli {

namespace {

constexpr std::string_view version_text = "0.1.0";

/// Flags of the settings that were given, by setting.
using Flags = std::map<const server::Setting*, std::string>;

/// A command: how it ends, or why it could not do its work.
using Action = std::function<Result<Exit>()>;

Result<Exit> exit_of(const Status& status) {
    if (!status.ok()) {
        return status.error();
    }
    return Exit::ok;
}

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

void add_flags(CLI::App& command, Flags& flags, const server::Settings& defaults) {
    for (const server::SettingTable& table : server::setting_tables()) {
        for (const server::Setting& setting : table.settings) {
            command
                .add_option_function<std::string>(
                    server::flag_name(setting),
                    [&flags, &setting](const std::string& text) { flags[&setting] = text; },
                    help_of(setting, defaults)
                )
                ->take_last()
                ->group(table.module.empty() ? "node" : std::string(table.module));
        }
    }
}

/// Defaults, then file, environment, flags: later ones win.
Result<server::Settings> load_settings(
    server::Settings settings,
    const std::string& file,
    const std::vector<std::string>& environment,
    const Flags& flags
) {
    std::vector<server::Assignment> all;
    if (!file.empty()) {
        // One byte more shows that there are too many.
        const std::string text = LKS_TRY(read_file(file, server::toml_bytes_max + 1));
        all = LKS_TRY(server::read_toml(text, file));
    }
    auto variables = LKS_TRY(server::read_environment(environment));
    all.insert(all.end(), variables.begin(), variables.end());
    for (const auto& [setting, text] : flags) {
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
    std::fflush(stdout);
}

/// Reads the command line into one action.
class CommandLine {
  public:
    explicit CommandLine(std::vector<std::string> environment)
        : environment_(std::move(environment)) {
        app_.require_subcommand(1);
        app_.set_help_flag("--help", "Show this help");
        add_server();
        add_topic();
        add_table();
        add_stored();
        add_bench();
        add_version();
    }

    int run(int argc, char** argv) {
        try {
            app_.parse(argc, argv);
        } catch (const CLI::ParseError& e) {  // CLI11 reports by throwing, --help too
            const bool asked_for_help = app_.exit(e) == 0;
            if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
                suggest();
            }
            return static_cast<int>(asked_for_help ? Exit::ok : Exit::usage);
        }
        const Result<Exit> done = action_();
        if (done.ok()) {
            return static_cast<int>(*done);
        }
        fmt::print(stderr, "lakestream: {}\n", done.error().message);
        return static_cast<int>(Exit::failed);
    }

  private:
    /// The flag nearest to the first one that nobody knows.
    void suggest() {
        const CLI::App* used = &app_;
        while (!used->get_subcommands().empty()) {
            used = used->get_subcommands().front();
        }
        std::vector<std::string> known;
        for (const CLI::Option* option : used->get_options()) {
            known.push_back(option->get_name());
        }
        for (const std::string& extra : app_.remaining(true)) {
            if (extra.starts_with("--")) {
                const std::string name = extra.substr(0, extra.find('='));
                fmt::print(
                    stderr,
                    "unknown flag {}; the nearest is {}\n",
                    name,
                    server::nearest(name, known)
                );
                return;
            }
        }
    }

    CLI::App& command(CLI::App& parent, const std::string& name, const std::string& help) {
        CLI::App& added = *parent.add_subcommand(name, help);
        added.set_help_flag("--help", "Show this help");
        return added;
    }

    void act(CLI::App& command, Action action) {
        command.callback([this, action = std::move(action)] { action_ = action; });
    }

    void add_server() {
        CLI::App& dev = command(app_, "dev", "Run a broker with its data in one folder");
        dev.add_option("--data-dir", data_dir_, "Where everything is stored")
            ->capture_default_str();
        add_flags(dev, flags_, dev_defaults());
        act(dev, [this] { return serve(true); });

        CLI::App& server = command(app_, "server", "Run a node as a file of settings says");
        server.add_option("--config", config_, "TOML file; docs/config.md has the keys");
        add_flags(server, flags_, {});
        act(server, [this] { return serve(false); });

        CLI::App& settings = command(app_, "settings", "Print docs/config.md");
        settings.group("");  // for the build
        act(settings, [] {
            std::string text = server::settings_markdown();
            text.pop_back();  // the line's end is added again
            return exit_of(put_line(text));
        });
    }

    /// The folder of the tables that topics have by themselves; empty: they have none.
    static std::string tables_of(const server::Settings& settings) {
        if (!settings.node.has_role("compactor") || !settings.node.compact.tables_default) {
            return "";
        }
        const auto folder = server::folder_of("storage", settings.storage, "file");
        return folder.ok() ? fmt::format("{}/tables", *folder) : "";
    }

    Result<Exit> serve(bool dev) {
        server::Settings defaults;
        if (dev) {
            defaults = dev_defaults();
            server::use_data_dir(defaults, data_dir_);
        }
        const auto settings = load_settings(defaults, config_, environment_, flags_);
        if (!settings.ok()) {
            fmt::print(stderr, "lakestream: {}\n", settings.error().message);
            return Exit::usage;
        }
        return exit_of(server::run(*settings, [&](const server::Node& node) {
            if (dev && settings->node.has_role("broker")) {
                say_what_to_try(node, !settings->node.http_listen.empty(), tables_of(*settings));
            }
        }));
    }

    void add_bootstrap(CLI::App& command) {
        command.add_option("--bootstrap", bootstrap_, "Broker, HOST:PORT")->capture_default_str();
    }

    void add_format(CLI::App& command) {
        command.add_option("--format", format_, "text or json")
            ->transform(CLI::CheckedTransformer(std::map<std::string, RecordFormat>{
                {"text", RecordFormat::text}, {"json", RecordFormat::json}
            }));
    }

    /// CLI11 by itself takes the nearest number that it can hold.
    static void not_negative(CLI::Option* option) {
        option->check([](const std::string& text) -> std::string {
            const auto number = parse_integer(text);
            return number.ok() ? "" : fmt::format("{} from 0 on", number.error().message);
        });
    }

    CLI::App& topic_command(CLI::App& topic, const std::string& name, const std::string& help) {
        CLI::App& added = command(topic, name, help);
        add_bootstrap(added);
        added.add_option("topic", topic_, "Name of the topic")->required();
        return added;
    }

    void add_topic() {
        CLI::App& topic = command(app_, "topic", "Topics of a running broker");
        topic.require_subcommand(1);

        CLI::App& create = topic_command(topic, "create", "Create a topic");
        create.add_option("--partitions", create_.partitions, "How many; else as the broker likes");
        create.add_option("--config", create_.configs, "NAME=VALUE, may be repeated");
        act(create, [this] {
            create_.name = topic_;
            return exit_of(topic_create(bootstrap_, create_));
        });

        CLI::App& list = command(topic, "list", "List topics");
        add_bootstrap(list);
        add_format(list);
        act(list, [this] { return exit_of(topic_list(bootstrap_, format_)); });

        CLI::App& describe = topic_command(topic, "describe", "Partitions and their offsets");
        add_format(describe);
        act(describe, [this] { return exit_of(topic_describe(bootstrap_, topic_, format_)); });

        CLI::App& remove = topic_command(topic, "delete", "Delete a topic and its records");
        act(remove, [this] { return exit_of(topic_delete(bootstrap_, topic_)); });
        add_produce(topic);
        add_consume(topic);
    }

    void add_produce(CLI::App& topic) {
        CLI::App& produce = topic_command(topic, "produce", "Write the lines of stdin");
        produce.add_flag("--keyed", produce_.keyed, "Lines are KEY<TAB>VALUE");
        not_negative(produce.add_option("--partition", produce_.partition, "Write to this one only")
        );
        act(produce, [this] {
            produce_.topic = topic_;
            return exit_of(topic_produce(bootstrap_, produce_));
        });
    }

    void add_consume(CLI::App& topic) {
        CLI::App& consume = topic_command(topic, "consume", "Print records");
        add_format(consume);
        consume
            .add_option(
                "--from", consume_.from, "beginning, end, an offset, or @TIME (ms or RFC 3339)"
            )
            ->capture_default_str();
        not_negative(consume.add_option("--count", consume_.count, "Stop after so many records"));
        not_negative(consume.add_option("--partition", consume_.partition, "Read this one only"));
        consume.add_flag("--keyed", consume_.keyed, "Print KEY<TAB>VALUE");
        consume.add_flag("--follow", consume_.follow, "At the end, wait for further records");
        act(consume, [this] {
            consume_.topic = topic_;
            consume_.format = format_;
            return exit_of(topic_consume(bootstrap_, consume_));
        });
    }

    server::Settings stored() const {
        server::Settings settings;
        server::use_data_dir(settings, data_dir_);
        settings.shards = 1;
        return settings;
    }

    void add_data_dir(CLI::App& command) {
        command.add_option("--data-dir", data_dir_, "The folder of `lakestream dev`")
            ->capture_default_str();
    }

    CLI::App& table_command(
        CLI::App& table, const std::string& name, const std::string& help, const std::string& flags
    ) {
        CLI::App& added = command(table, name, help);
        add_data_dir(added);
        added.add_option("topic", topic_, "TOPIC or NAMESPACE/TOPIC")->required();
        added.footer(fmt::format("Example: lakestream table {} orders{}", name, flags));
        return added;
    }

    void add_table() {
        CLI::App& table = command(app_, "table", "Iceberg tables of a data folder");
        table.require_subcommand(1);

        CLI::App& list = command(table, "list", "Tables, their size and last commit");
        add_data_dir(list);
        add_format(list);
        list.footer("Example: lakestream table list --data-dir lakestream-data");
        act(list, [this] { return table_list(data_dir_, format_); });

        CLI::App& describe = table_command(
            table, "describe", "Columns, committed offsets and files", " --format json"
        );
        add_format(describe);
        act(describe, [this] { return exit_of(table_describe(data_dir_, topic_, format_)); });

        CLI::App& scan =
            table_command(table, "scan", "Print rows", " --partition 0 --offset 100 --limit 10");
        add_format(scan);
        not_negative(scan.add_option("--limit", scan_.limit, "Stop after so many rows"));
        not_negative(scan.add_option("--partition", scan_.partition, "Rows of this one only"));
        not_negative(scan.add_option("--offset", scan_.offset, "Rows from this offset on"));
        act(scan, [this] {
            scan_.topic = topic_;
            scan_.format = format_;
            return exit_of(table_scan(data_dir_, scan_));
        });

        CLI::App& verify = table_command(
            table, "verify", "Compare a table with its topic; the node must be stopped", ""
        );
        act(verify, [this] { return table_verify(stored(), topic_); });
    }

    void add_stored() {
        CLI::App& inspect = command(app_, "inspect", "Stored things as JSON lines");
        inspect.require_subcommand(1);
        CLI::App& wal = command(inspect, "wal", "Entries of a WAL object");
        wal.add_option("file", key_, "The object's file")->required();
        wal.footer("Example: lakestream inspect wal lakestream-data/wal/2026/07/01/12/34/OBJECT");
        act(wal, [this] { return exit_of(inspect_wal(key_)); });
        CLI::App& compacted = command(inspect, "compacted", "Entries of a compacted pair");
        compacted.add_option("file", key_, "Its .parquet or its .index file")->required();
        compacted.footer(
            "Example: lakestream inspect compacted "
            "lakestream-data/compacted/default/orders/ursa-UUID.parquet"
        );
        act(compacted, [this] { return exit_of(inspect_compacted(key_)); });
        CLI::App& index = command(inspect, "index", "Index records of a log");
        index.add_option("log", key_, "Its id")->required();
        add_data_dir(index);
        index.footer("Example: lakestream inspect index 4");
        act(index, [this] { return exit_of(inspect_index(stored(), key_)); });
        CLI::App& meta = command(inspect, "meta", "Metadata records");
        meta.add_option("key", key_, "How their keys begin");
        add_data_dir(meta);
        meta.footer("Example: lakestream inspect meta /lks/");
        act(meta, [this] { return exit_of(inspect_meta(stored(), key_)); });

        CLI::App& check = command(app_, "check", "Does what is stored hold together?");
        add_data_dir(check);
        check.footer("Example: lakestream check --data-dir lakestream-data");
        act(check, [this] { return cli::check(stored()); });
    }

    void add_bench() {
        CLI::App& bench = command(app_, "bench", "Load a running broker, and say what it cost");
        bench.require_subcommand(1);
        for (const auto& [name, operation] :
             {std::pair("produce", BenchOperation::produce),
              std::pair("fetch", BenchOperation::fetch)}) {
            CLI::App& one = command(bench, name, fmt::format("Measure {}", name));
            add_bootstrap(one);
            one.add_option("--topic", bench_.topic, "Made when missing")->capture_default_str();
            one.add_option("--partitions", bench_.partitions, "When it is made")
                ->capture_default_str();
            one.add_option("--connections", bench_.connections, "")->capture_default_str();
            one.add_option("--in-flight", bench_.in_flight, "Requests of each connection")
                ->capture_default_str();
            one.add_option("--record-bytes", bench_.record_bytes, "")->capture_default_str();
            one.add_option("--batch-bytes", bench_.batch_bytes, "")->capture_default_str();
            one.add_option("--fetch-bytes", bench_.fetch_bytes, "Of a partition and answer")
                ->capture_default_str();
            one.add_option("--seconds", bench_seconds_, "At most")->capture_default_str();
            one.add_option("--bytes", bench_.bytes, "At most; 0: no limit")->capture_default_str();
            one.add_option("--rate", bench_.rate, "MB/s; 0: no limit")->capture_default_str();
            one.add_option("--server-pid", bench_.server_pid, "Whose CPU and memory to report");
            one.add_flag("--json", bench_.json, "One line of JSON");
            act(one, [this, chosen = operation] {
                bench_.operation = chosen;
                bench_.duration = std::chrono::seconds(bench_seconds_);
                return exit_of(cli::bench(bootstrap_, bench_));
            });
        }
    }

    void add_version() {
        act(command(app_, "version", "Print the version"),
            [] { return exit_of(put_line(fmt::format("lakestream {}", version_text))); });
    }

    CLI::App app_{"Lakestream: stream storage on object storage", "lakestream"};
    const std::vector<std::string> environment_;
    Action action_;
    Flags flags_;
    std::string data_dir_ = "lakestream-data";
    std::string config_;
    std::string bootstrap_ = "127.0.0.1:9092";
    std::string topic_;
    std::string key_;
    RecordFormat format_ = RecordFormat::text;
    TopicCreate create_;
    Produce produce_;
    Scan scan_;
    Consume consume_;
    Bench bench_;
    std::int64_t bench_seconds_ = 10;
};

}  // namespace

}  // namespace lakestream::cli

int main(int argc, char** argv, char** environment) {
    using namespace lakestream;  // NOLINT(google-build-using-namespace): main() has no namespace
    server::prepare_process();
    server::install_log_sink(log::Level::warn);
    std::vector<std::string> variables;
    for (; *environment != nullptr; ++environment) {
        variables.emplace_back(*environment);
    }
    return cli::CommandLine(std::move(variables)).run(argc, argv);
}
