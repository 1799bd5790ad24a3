// SPDX-License-Identifier: Apache-2.0
// From a section to its index record, and from an index record to what the fold and readers need.
#pragma once

#include "index/record.h"
#include "log/compaction_view.h"
#include "log/fold.h"
#include "log/pending.h"
#include "meta/metadata_store.h"
#include "wal/object_format.h"

namespace lakestream::log {

/// The index record of a section that is part of `object` under `section.location`.
index::IndexRecord to_index_record(const Section& section, const wal::BuiltObject& object);

/// What the fold needs of a stored raw record. Errors: `corrupt`.
Result<FoldRecord> to_fold_record(
    LogId log, const meta::Record& record, const index::IndexRecord& value
);

/// A stored record of any kind. Its voids are for whoever folds to tell. Errors: `corrupt`.
Result<WalkRecord> to_walk_record(LogId log, const meta::Record& record);

}  // namespace lakestream::log
