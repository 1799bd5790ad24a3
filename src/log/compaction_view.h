// SPDX-License-Identifier: Apache-2.0
// CompactionView: the folded prefix of logs, for whoever rewrites it: compaction, tables, checks.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "index/record.h"
#include "lakestream/types.h"
#include "rt/task.h"

namespace lakestream::log {

/// One index record of the folded prefix.
struct WalkRecord {
    OffsetRange range;
    std::int64_t cumulative = 0;  // payload bytes of the log up to and including it
    WallTime created;
    index::IndexRecord value;
    std::vector<OffsetRange> voids;  // parts of `range` that do not count
};

/// Implemented by the node's engine. Any executor.
class CompactionView {
  public:
    virtual ~CompactionView() = default;

    /// Logs that have grown since the last call, or were loaded for the first time.
    virtual rt::Task<std::vector<LogId>> take_grown() = 0;
    /// Index records from the one that holds `from` on, as far as this node has folded, at most
    /// `limit`. While a replacement is half done, the compacted record follows raw ones that it
    /// covers. Errors: as Engine::read. Cost: one scan.
    virtual rt::Task<Result<std::vector<WalkRecord>>> walk(
        LogId log, Offset from, std::size_t limit
    ) = 0;
    /// Save the log's fold state; returns the end of the stored snapshot, up to which index records
    /// may be replaced. Cost: one read and one write, nothing when saved already.
    virtual rt::Task<Result<Offset>> checkpoint(LogId log) = 0;
};

}  // namespace lakestream::log
