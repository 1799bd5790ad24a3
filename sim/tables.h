// SPDX-License-Identifier: Apache-2.0
// Tables: what is in them, read as any other program would: files and metadata, no engine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "codec/record_reader.h"
#include "rt/sim/loop.h"
#include "sim/clients.h"
#include "table/files.h"
#include "table/iceberg/file_table.h"

namespace lakestream::sim {

/// Partition, offset, key and value; null and empty told apart.
using TableRow = std::tuple<std::int32_t, std::int64_t, std::string, std::string>;
/// By topic, in the order of partition and offset.
using TableRows = std::map<std::string, std::vector<TableRow>>;

TableRow table_row(
    std::int32_t partition,
    std::int64_t offset,
    codec::NullableBytes key,
    codec::NullableBytes value
);

/// Waits until the table of each topic has as many rows as it must have, then compares them all
/// (INV-TABLE-EXACT).
class TableAuditor final : public Client {
  public:
    /// Of a partition that was trimmed, rows before its start are there or not.
    TableAuditor(
        World& world,
        Ledger& ledger,
        const std::string& name,
        TableRows expected,
        std::map<Partition, Offset> starts
    );
    void start() override { scope_.spawn(run()); }
    std::string status() const override { return doing_; }

  private:
    rt::Task<void> run();
    rt::Task<Status> check(std::string topic, std::vector<TableRow> expected);
    Result<std::vector<TableRow>> read_rows(const std::vector<std::string>& names) const;

    bool is_trimmed(const std::string& topic, const TableRow& row) const;

    const TableRows expected_;
    const std::map<Partition, Offset> starts_;
    objstore::MemoryStore store_;
    rt::SimOffloader offloader_;
    std::string doing_;
};

}  // namespace lakestream::sim
