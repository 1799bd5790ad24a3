// SPDX-License-Identifier: Apache-2.0
// Deleting the index records that nobody can read any more.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "lakestream/types.h"
#include "log/compaction_view.h"
#include "meta/metadata_store.h"
#include "rt/task.h"

namespace lakestream::clean {

struct HardTrimmed {
    std::uint64_t records = 0;  // that went
    bool complete = true;       // false: the last one ends at or before the start, or one changed
};

/// Delete the log's index records that end at or before its start, each at the version it was read
/// at: those before the compaction's cursor, which moves up to the start, and before the end of the
/// stored fold snapshot, which is saved for it; never the last one. Repeatable from any crash.
/// Errors: of the store, `conflict` (a compactor goes on: later). Cost: 6 reads; 2 to 4 writes, 1
/// scan and 1 write for each 1000 records when there is something to do.
rt::Task<Result<HardTrimmed>> hard_trim(
    meta::MetadataStore& store, log::CompactionView& view, LogId log
);

}  // namespace lakestream::clean
