// SPDX-License-Identifier: Apache-2.0
// Makes an Iceberg table of Parquet files that lie in its folder already, for tests with readers.
//
//     make_table ROOT < description.json
//
// ROOT is the store's folder. The description: `folder` (of the table), `location`, and `commits`,
// each a list of files: `name`, `bytes`, `rows`, `ranges` (log: [begin, end]), `columns` (by field
// id: `size`, `values`, `nulls`, `lower`, `upper`; bounds in hexadecimal), `split_offsets`.
#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/assert.h"
#include "codec/testing/golden.h"
#include "objstore/local/local_store.h"
#include "rt/sim/testing.h"
#include "table/iceberg/file_table.h"

namespace lakestream::table::iceberg {
namespace {

using Json = nlohmann::json;

template <class T>
T must(Result<T> result) {
    if (!result.ok()) {
        fmt::print(stderr, "{}\n", result.error().to_string());
        std::exit(1);
    }
    return *std::move(result);
}

DataFile data_file(const Json& json) {
    DataFile out{.size_bytes = json["bytes"], .rows = json["rows"]};
    for (const auto& [id, column] : json["columns"].items()) {
        ColumnStats& stats = out.columns[std::stoi(id)];
        stats.size_bytes = column["size"];
        stats.value_count = column["values"];
        stats.null_count = column["nulls"];
        if (column.contains("lower")) {
            stats.lower = codec::from_hex(column["lower"].get<std::string>());
            stats.upper = codec::from_hex(column["upper"].get<std::string>());
        }
    }
    out.split_offsets = json["split_offsets"].get<std::vector<std::int64_t>>();
    return out;
}

PreparedFile prepared(const Json& json) {
    PreparedFile out{.file = to_table_file(data_file(json), json["name"], 1)};
    for (const auto& [log, range] : json["ranges"].items()) {
        out.ranges[LogId(std::stoll(log))] = {Offset(range[0]), Offset(range[1])};
    }
    return out;
}

int run(const std::string& root) {
    const Json description = Json::parse(std::string(std::istreambuf_iterator<char>(std::cin), {}));
    rt::SimTest sim;
    rt::SimOffloader offloader(sim.executor, 1ms);
    sim.clock.set_wall_error(std::chrono::years(55));
    auto store = must(
        objstore::LocalStore::open(root, {.gets = offloader, .others = offloader}, sim.clock, 1)
    );
    FileTable table(
        *store, offloader, {.folder = description["folder"], .location = description["location"]}
    );
    const TableVersion made = must(sim.run(table.open_or_create({.stream = "s"})));
    for (const Json& commit : description["commits"]) {
        std::vector<PreparedFile> files;
        for (const Json& file : commit) {
            files.push_back(prepared(file));
        }
        const CommitResult result =
            must(sim.run(table.append({made.metadata.uuid, "s"}, std::move(files))));
        LKS_ASSERT(result.verdict == Verdict::append);
        fmt::print("version {}\n", result.version);
    }
    return 0;
}

}  // namespace
}  // namespace lakestream::table::iceberg

int main(int argc, char** argv) {
    return argc == 2 ? lakestream::table::iceberg::run(argv[1]) : 2;
}
