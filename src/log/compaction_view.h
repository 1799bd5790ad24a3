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

    /// Nothing in it counts: its object may have gone before it was published.
    bool is_void() const { return voids.size() == 1 && voids.front() == range; }
};

/// What is stored of a log's fold.
struct Checkpoint {
    Offset end;                      // of the snapshot: up to there index records may be replaced
    std::vector<OffsetRange> voids;  // of the range that was asked for
};

/// Implemented by the node's engine. Any executor.
class CompactionView {
  public:
    virtual ~CompactionView() = default;

    /// Logs that have grown since the last call, or were loaded for the first time.
    virtual rt::Task<std::vector<LogId>> take_grown() = 0;
    /// Index records from the one that holds `from` on, as far as this node has folded, at most
    /// `limit`. While a replacement is half done, the compacted record follows raw ones that it
    /// covers. Errors: as Engine::read; `conflict` (what is seen was compacted meanwhile). Cost:
    /// one scan.
    virtual rt::Task<Result<std::vector<WalkRecord>>> walk(
        LogId log, Offset from, std::size_t limit
    ) = 0;
    /// Save the log's fold state before index records are replaced: those that end in `next`, which
    /// begins at the compaction cursor as stored. Voids before that are forgotten. Errors: as
    /// Engine::read; `unavailable` (this node has not folded so far), `conflict` (the cursor is
    /// further). Cost: one read and one write, nothing when saved already.
    virtual rt::Task<Result<Checkpoint>> checkpoint(LogId log, OffsetRange next) = 0;
    /// Wait until each WAL object that was begun before the call has been published, or never will
    /// be, here or elsewhere. False: not before the deadline, or other processes write as well.
    virtual rt::Task<bool> settle(Deadline deadline) = 0;
};

}  // namespace lakestream::log
