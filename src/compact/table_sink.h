// SPDX-License-Identifier: Apache-2.0
// TableSink: where the compactor's data files become part of a table.
#pragma once

#include <map>

#include "catalog/catalog.h"
#include "table/files.h"

namespace lakestream::compact {

/// Next offset of each log of a stream that its table does not hold yet.
using TablePositions = std::map<LogId, Offset>;

/// Tables by stream. The position is part of the table's own commit, so a file is in the table once
/// or not at all, whoever crashes where (docs/protocols/table-commit.md).
class TableSink {
  public:
    virtual ~TableSink() = default;

    /// Create the stream's table if there is none, and say how far it is. Errors: `fenced` (the
    /// table is suspended: the message says why and what to do), those of the store.
    virtual rt::Task<Result<TablePositions>> open(catalog::StreamPtr stream) = 0;

    /// Store a data file and commit it as the rows of `ranges`, each of which begins at the log's
    /// position; one without rows is not stored, and the position moves all the same. The new
    /// positions, which may be further than the ranges: another committer was there first. Errors
    /// as `open`; after an error call `open` again.
    virtual rt::Task<Result<TablePositions>> append(
        catalog::StreamPtr stream, table::DataFile file, std::map<LogId, OffsetRange> ranges
    ) = 0;
};

}  // namespace lakestream::compact
