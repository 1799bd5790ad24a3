// SPDX-License-Identifier: Apache-2.0
// lakestream doctor and cost.
#include <map>

#include "cli/main/command_line.h"

namespace lakestream::cli {

namespace {

void add_cost_options(CLI::App& command, Cost& options) {
    const CLI::Range positive(0.0, 1e9);
    command.add_option("--retention-days", options.retention_days, "How long records are kept")
        ->check(positive)
        ->capture_default_str();
    command.add_option("--compression", options.compression, "Raw bytes per stored byte")
        ->check(CLI::Range(0.1, 1000.0))
        ->capture_default_str();
    command.add_option("--store", options.store, "One price list only: s3, s3-express or local")
        ->check(CLI::IsMember({"s3", "s3-express", "local"}));
}

void add_cost(CommandLine& line) {
    CLI::App& cost = line.noun("cost", "Estimate a month's requests, bytes and money");
    Cost& options = line.make<Cost>();
    CLI::App& node = line.command(
        cost,
        "node",
        {.help = "From what a running node does now, by its metrics",
         .examples = {"cost node --seconds 60", "cost node --store s3 --format json"}}
    );
    line.add_http(node);
    auto& seconds = line.make<std::int64_t>();
    seconds = 10;
    not_negative(node.add_option("--seconds", seconds, "Watch for so long; 0: since it started")
                     ->capture_default_str());
    CLI::App& workload = line.command(
        cost,
        "workload",
        {.help = "From numbers that you give",
         .examples = {"cost workload --in 10 --out 30 --flushes 4 --retention-days 7"}}
    );
    const CLI::Range positive(0.0, 1e9);
    workload.add_option("--in", options.megabytes_in, "MB/s written by producers")
        ->check(positive)
        ->required();
    workload.add_option("--out", options.megabytes_out, "MB/s read by consumers")->check(positive);
    workload.add_option("--flushes", options.flushes, "WAL objects per second; 0: as 4 MB objects")
        ->check(positive);
    for (const auto& [command, of] :
         {std::pair(&node, CostOf::node), std::pair(&workload, CostOf::workload)}) {
        add_cost_options(*command, options);
        line.add_format(*command);
        line.act(*command, [&, chosen = of] {
            options.of = chosen;
            options.http = line.http();
            options.window = std::chrono::seconds(seconds);
            options.format = line.format();
            return exit_of(cli::cost(options));
        });
    }
}

}  // namespace

void add_diagnosis(CommandLine& line) {
    CLI::App& doctor = line.command(
        "doctor",
        {.help = "Check the machine and a running node; each finding says what to do",
         .examples = {"doctor", "doctor --data-dir /var/lib/lakestream --format json"}}
    );
    line.add_bootstrap(doctor);
    line.add_http(doctor);
    line.add_data_dir(doctor, "Where the node stores everything");
    line.add_format(doctor);
    line.act(doctor, [&line] {
        return cli::doctor(
            {.bootstrap = line.bootstrap(),
             .http = line.http(),
             .data_dir = line.data_dir(),
             .format = line.format()}
        );
    });
    add_cost(line);
}

}  // namespace lakestream::cli
