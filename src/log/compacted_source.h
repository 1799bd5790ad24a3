// SPDX-License-Identifier: Apache-2.0
// CompactedSource: how the log reads records that compaction has replaced.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "index/record.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"
#include "rt/scope.h"
#include "rt/task.h"

namespace lakestream::log {

/// One entry of a compacted object.
struct CompactedPart {
    OffsetRange range;
    WallTime created;
    Bytes payload;
};

/// Implemented by compaction; nodes that never meet a compacted record never load what it needs.
class CompactedSource {
  public:
    virtual ~CompactedSource() = default;
    /// Entries of the record's range from the one that holds `from` on, or the next one behind a
    /// gap; about `bytes_max` of payload, at least one while there is one. What comes after them
    /// may be fetched by tasks in `ahead`, a scope of the caller's executor. Errors: `corrupt` (a
    /// file is damaged), `not_found` (one is missing: a reader looks at the index again).
    virtual rt::Task<Result<std::vector<CompactedPart>>> read(
        LogId log,
        index::IndexRecord record,
        OffsetRange range,
        Offset from,
        std::uint64_t bytes_max,
        rt::TaskScope& ahead
    ) = 0;
};

}  // namespace lakestream::log
