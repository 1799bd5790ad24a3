// SPDX-License-Identifier: Apache-2.0
// The noun `bench`: its commands and their options.
#include "base/format.h"
#include "cli/main/command_line.h"

namespace lakestream::cli {

namespace {

struct BenchAsked {
    Bench bench;
    std::int64_t seconds = 10;
    bool json = false;
};

/// A number of bytes, or with a unit: 64KiB, 1GiB, also 1MB.
void sized(CLI::Option* option) {
    option->transform(CLI::AsSizeValue(true))->type_name("BYTES")->capture_default_str();
}

void add_load(CLI::App& one, BenchAsked& asked) {
    Bench& bench = asked.bench;
    one.add_option("--topic", bench.topic, "Made when missing")->capture_default_str();
    one.add_option("--partitions", bench.partitions, "When it is made")->capture_default_str();
    one.add_option("--connections", bench.connections, "")->capture_default_str();
    one.add_option("--in-flight", bench.in_flight, "Requests of each connection")
        ->capture_default_str();
    sized(one.add_option("--record-bytes", bench.record_bytes, ""));
    sized(one.add_option("--batch-bytes", bench.batch_bytes, ""));
    sized(one.add_option("--fetch-bytes", bench.fetch_bytes, "Of a partition and answer"));
    one.add_option("--seconds", asked.seconds, "At most")->capture_default_str();
    sized(one.add_option("--bytes", bench.bytes, "At most; 0: no limit"));
    one.add_option("--rate", bench.rate, "MB/s; 0: no limit")->capture_default_str();
    one.add_option("--server-pid", bench.server_pid, "Whose CPU and memory to report");
    one.add_flag("--json", asked.json, "The same as --format json");
}

}  // namespace

void add_bench(CommandLine& line) {
    CLI::App& noun = line.noun("bench", "Load a running broker, and say what it cost");
    BenchAsked& asked = line.make<BenchAsked>();
    for (const auto& [name, operation] :
         {std::pair("produce", BenchOperation::produce), std::pair("fetch", BenchOperation::fetch)
         }) {
        CLI::App& one = line.command(
            noun,
            name,
            {.help = fmt::format("Measure {}", name),
             .examples = {fmt::format("bench {} --bytes 1GiB --format json", name)}}
        );
        line.add_bootstrap(one);
        line.add_format(one);
        add_load(one, asked);
        line.act(one, [&, chosen = operation] {
            asked.bench.operation = chosen;
            asked.bench.duration = std::chrono::seconds(asked.seconds);
            asked.bench.json = asked.json || line.format() == RecordFormat::json;
            return exit_of(cli::bench(line.bootstrap(), asked.bench));
        });
    }
}

}  // namespace lakestream::cli
