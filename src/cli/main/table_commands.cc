// SPDX-License-Identifier: Apache-2.0
// The noun `table`: its commands and their options.
#include "cli/main/command_line.h"
#include "cli/main/stored.h"

namespace lakestream::cli {

namespace {

CLI::App& table_command(
    CommandLine& line, CLI::App& table, const std::string& name, const About& about
) {
    CLI::App& added = line.command(table, name, about);
    line.add_data_dir(added);
    line.add_topic_name(added, "TOPIC or NAMESPACE/TOPIC");
    return added;
}

void add_scan(CommandLine& line, CLI::App& table) {
    CLI::App& scan = table_command(
        line,
        table,
        "scan",
        {.help = "Print rows",
         .examples = {"table scan orders --partition 0 --offset 100 --limit 10"}}
    );
    Scan& options = line.make<Scan>();
    line.add_format(scan);
    not_negative(scan.add_option("--limit", options.limit, "Stop after so many rows"));
    not_negative(scan.add_option("--partition", options.partition, "Rows of this one only"));
    not_negative(scan.add_option("--offset", options.offset, "Rows from this offset on"));
    line.act(scan, [&] {
        options.topic = line.topic();
        options.format = line.format();
        return exit_of(table_scan(line.data_dir(), options));
    });
}

}  // namespace

void add_table(CommandLine& line) {
    CLI::App& table = line.noun("table", "Iceberg tables of a data folder");
    CLI::App& list = line.command(
        table,
        "list",
        {.help = "Tables, their size and last commit",
         .examples = {"table list --data-dir lakestream-data"}}
    );
    line.add_data_dir(list);
    line.add_format(list);
    line.act(list, [&] { return table_list(line.data_dir(), line.format()); });

    CLI::App& describe = table_command(
        line,
        table,
        "describe",
        {.help = "Columns, committed offsets and files",
         .examples = {"table describe orders --format json"}}
    );
    line.add_format(describe);
    line.act(describe, [&] {
        return exit_of(table_describe(line.data_dir(), line.topic(), line.format()));
    });
    add_scan(line, table);

    CLI::App& take_over = table_command(
        line,
        table,
        "take-over",
        {.help = "Start a table again from the topic that has its name now",
         .examples = {"table take-over orders"}}
    );
    line.add_bootstrap(take_over);
    line.act(take_over, [&] {
        return exit_of(table_take_over(line.data_dir(), line.bootstrap(), line.topic()));
    });

    CLI::App& verify = table_command(
        line,
        table,
        "verify",
        {.help = "Compare a table with its topic; the node must be stopped",
         .examples = {"table verify orders"}}
    );
    line.add_format(verify);
    act_check(line, verify, [&](const server::Settings& settings) {
        return table_verify(settings, line.topic(), line.format());
    });
}

}  // namespace lakestream::cli
