// SPDX-License-Identifier: Apache-2.0
// lakestream inspect … and check.
#include "cli/main/stored.h"
#include "cli/text.h"

namespace lakestream::cli {

namespace {

Result<Exit> on_stored(const CommandLine& line, const StoredAction& action) {
    server::Settings settings;
    LKS_TRY(server::use_data_dir(settings, line.data_dir()));
    settings.shards = 1;
    return action(settings);
}

Exit exit_of_check(const Result<Exit>& done) {
    if (done.ok()) {
        return *done;
    }
    complain(done.error().message);
    return done.is(ErrorCode::corrupt) ? Exit::failed : Exit::unchecked;
}

}  // namespace

void act_stored(CommandLine& line, CLI::App& command, StoredAction action) {
    line.act(command, [&line, action = std::move(action)] { return on_stored(line, action); });
}

void act_check(CommandLine& line, CLI::App& command, StoredAction action) {
    line.act(command, [&line, action = std::move(action)]() -> Result<Exit> {
        return exit_of_check(on_stored(line, action));
    });
}

void add_stored(CommandLine& line) {
    CLI::App& inspect = line.noun("inspect", "Stored things as JSON lines");
    auto& what = line.make<std::string>();
    CLI::App& wal = line.command(
        inspect,
        "wal",
        {.help = "Entries of a WAL object",
         .examples = {"inspect wal lakestream-data/wal/2026/07/01/12/34/OBJECT"}}
    );
    wal.add_option("file", what, "The object's file")->required();
    line.act(wal, [&] { return exit_of(inspect_wal(what)); });

    CLI::App& compacted = line.command(
        inspect,
        "compacted",
        {.help = "Entries of a compacted pair",
         .examples = {"inspect compacted lakestream-data/compacted/default/orders/ursa-UUID.parquet"
         }}
    );
    compacted.add_option("file", what, "Its .parquet or its .index file")->required();
    line.act(compacted, [&] { return exit_of(inspect_compacted(what)); });

    CLI::App& index = line.command(
        inspect, "index", {.help = "Index records of a log", .examples = {"inspect index 4"}}
    );
    not_negative(index.add_option("log", what, "Its id")->required());
    line.add_data_dir(index);
    act_stored(line, index, [&](const server::Settings& settings) {
        return exit_of(inspect_index(settings, what));
    });

    CLI::App& meta = line.command(
        inspect, "meta", {.help = "Metadata records", .examples = {"inspect meta /lks/"}}
    );
    meta.add_option("key", what, "How their keys begin");
    line.add_data_dir(meta);
    act_stored(line, meta, [&](const server::Settings& settings) {
        return exit_of(inspect_meta(settings, what));
    });

    CLI::App& check = line.command(
        "check",
        {.help = "Does what is stored hold together?",
         .examples = {"check --data-dir lakestream-data"}}
    );
    line.add_data_dir(check);
    line.add_format(check);
    act_check(line, check, [&line](const server::Settings& settings) {
        return cli::check(settings, line.format());
    });
}

}  // namespace lakestream::cli
