// SPDX-License-Identifier: Apache-2.0
// Reading tables and judging them.
#include "sim/tables.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "table/bytes_file.h"

namespace lakestream::sim {

namespace {

std::string text_of(codec::NullableBytes bytes) {
    if (!bytes.has_value()) {
        return "null";
    }
    return "=" + std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

}  // namespace

TableRow table_row(
    std::int32_t partition,
    std::int64_t offset,
    codec::NullableBytes key,
    codec::NullableBytes value
) {
    return {partition, offset, text_of(key), text_of(value)};
}

TableAuditor::TableAuditor(
    World& world,
    Ledger& ledger,
    const std::string& name,
    TableRows expected,
    std::map<Partition, Offset> starts
)
    : Client(world, ledger, name),
      expected_(std::move(expected)),
      starts_(std::move(starts)),
      store_(world.tables),
      offloader_(executor_, Duration(0)) {}

rt::Task<void> TableAuditor::run() {
    for (const auto& [topic, rows] : expected_) {
        while (!rows.empty()) {
            const Status checked = co_await check(topic, rows);
            if (checked.ok()) {
                break;
            }
            doing_ = fmt::format("{}: {}", topic, checked.error());
            log::info("sim", "table {}", doing_);
            co_await nap(5s);
        }
    }
}

bool TableAuditor::is_trimmed(const std::string& topic, const TableRow& row) const {
    const auto start = starts_.find({topic, std::get<0>(row)});
    return start != starts_.end() && Offset(std::get<1>(row)) < start->second;
}

rt::Task<Status> TableAuditor::check(std::string topic, std::vector<TableRow> expected) {
    const std::string folder = fmt::format("default/{}", topic);
    table::iceberg::FileTable table(
        store_,
        offloader_,
        {.folder = folder, .location = fmt::format("{}/{}", tables_location, folder)}
    );
    const auto version = LKS_CO_TRY(co_await table.load());
    const auto& metadata = version.metadata;
    const auto* snapshot = metadata.current_snapshot.has_value()
                               ? metadata.find_snapshot(*metadata.current_snapshot)
                               : nullptr;
    if (snapshot == nullptr) {
        co_return unavailable("nothing is committed yet");
    }
    std::erase_if(expected, [&](const TableRow& row) { return is_trimmed(topic, row); });
    const bool trimmed = std::ranges::any_of(starts_, [&](const auto& each) {
        return each.first.topic == topic && each.second > Offset(0);
    });
    // Reading files is dear: first as many rows as there must be.
    const auto total = snapshot->summary.find("total-records");
    if (!trimmed && total != snapshot->summary.end() &&
        std::stoull(total->second) > expected.size()) {
        world_.violated(
            "INV-TABLE-EXACT",
            fmt::format("table of {}: {} rows of {}", topic, total->second, expected.size())
        );
        co_return Status();
    }
    if (!trimmed &&
        (total == snapshot->summary.end() || total->second != std::to_string(expected.size()))) {
        co_return unavailable(
            "{} rows of {}",
            total == snapshot->summary.end() ? "no" : total->second,
            expected.size()
        );
    }
    std::vector<std::string> names;
    for (const auto& file : LKS_CO_TRY(co_await table.load_files(metadata, *snapshot))) {
        names.push_back(LKS_CO_TRY(table.object_name(metadata, file.path)));
    }
    std::vector<TableRow> rows = LKS_CO_TRY(read_rows(names));
    std::erase_if(rows, [&](const TableRow& row) { return is_trimmed(topic, row); });
    if (rows.size() < expected.size()) {
        co_return unavailable("{} rows of {}", rows.size(), expected.size());
    }
    std::ranges::sort(rows);
    std::ranges::sort(expected);
    if (rows != expected) {
        world_.violated(
            "INV-TABLE-EXACT",
            fmt::format("table of {}: {} rows, not those of the log", topic, rows.size())
        );
    }
    co_return Status();
}

Result<std::vector<TableRow>> TableAuditor::read_rows(const std::vector<std::string>& names) const {
    const auto files = LKS_TRY(table::load_table_files());
    std::vector<TableRow> rows;
    for (const std::string& name : names) {
        const Bytes bytes = LKS_TRY(world_.tables.get(name, std::nullopt));
        const auto reader =
            LKS_TRY(files->read_data_file(std::make_unique<table::BytesFile>(bytes)));
        while (const auto row = LKS_TRY(reader->next())) {
            rows.push_back(table_row(row->partition, row->offset, row->key, row->value));
        }
    }
    return rows;
}

}  // namespace lakestream::sim
