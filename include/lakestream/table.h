// SPDX-License-Identifier: Apache-2.0
// Table: the Iceberg table of a stream: how far it is, and its rows.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lakestream/future.h"
#include "lakestream/record.h"
#include "lakestream/types.h"

namespace lakestream {

namespace api {
struct TableHandle;
class ScanHandle;
}  // namespace api

/// One row: a record, and the partition (log number) it was written to.
struct TableRow {
    std::int32_t partition = 0;
    StoredRecord stored;

    bool operator==(const TableRow&) const = default;
};

/// The rows of one snapshot of a table, a piece at a time. Later commits do not change it.
class TableScan {
  public:
    explicit TableScan(std::shared_ptr<api::ScanHandle> handle) : handle_(std::move(handle)) {}

    /// The next rows, at least one; none at the end. Rows of one partition come in the order of
    /// their offsets. One call at a time: `invalid_argument` otherwise. Errors: `corrupt` (the
    /// message names the file), `unsupported` (liblakestream_tables.so is missing; files of other
    /// writers that are not rows of a stream), `unavailable`, `cancelled`. Memory: one data file,
    /// and the rows. Cost: 1 GET for each data file.
    Future<std::vector<TableRow>> next(std::size_t rows_max = 10'000);

  private:
    std::shared_ptr<api::ScanHandle> handle_;
};

/// A value: copies mean the same table. Any thread may call; any Iceberg reader may read the same
/// files at the same time. The engine with Role::compactor commits every `table.commit_interval`;
/// each record is in the table once, whoever crashes when.
///
/// Errors of every call: `not_found` (nothing committed yet, or the stream has no table),
/// `cancelled` (the engine is closed), `unavailable`, `corrupt`.
class Table {
  public:
    explicit Table(std::shared_ptr<const api::TableHandle> handle) : handle_(std::move(handle)) {}

    /// The table's folder, for other readers: a path.
    const std::string& location() const noexcept;

    /// How far it is: for each log the offset behind the last record that it holds. Cost: 2 GET, 1
    /// HEAD.
    Future<std::map<LogId, Offset>> positions();

    /// Wait until its positions are these or beyond them; offset 0 asks for nothing. Errors:
    /// `deadline_exceeded` instead of `not_found`. Cost: that of `positions`, several times a
    /// second.
    Future<void> wait_for(std::map<LogId, Offset> positions, std::chrono::milliseconds timeout);

    /// A scan of the newest snapshot. Errors: `unsupported` (rows were deleted by another writer).
    /// Cost: as `positions`, and 1 GET for each manifest.
    Future<TableScan> scan();

  private:
    std::shared_ptr<const api::TableHandle> handle_;
};

}  // namespace lakestream
