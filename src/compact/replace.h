// SPDX-License-Identifier: Apache-2.0
// Replacing a range of index records by one that points to a compacted object.
#pragma once

#include <optional>

#include "compact/intent.h"
#include "meta/metadata_store.h"
#include "rt/task.h"

namespace lakestream::compact {

/// A log's compaction state as stored.
struct StoredState {
    CompactState state;
    std::optional<meta::VersionId> version;  // absent: nothing is stored yet
};

/// Errors: as MetadataStore::get; `corrupt`.
rt::Task<Result<StoredState>> load_state(meta::MetadataStore& store, LogId log);

/// Decide a replacement: step 0. Precondition: no intent stands, the range begins at the cursor,
/// ends at an index key and not beyond the stored fold snapshot, and the files are stored. Errors:
/// `conflict` (another compactor moved: load again; the files are orphans).
rt::Task<Result<StoredState>> begin_replace(
    meta::MetadataStore& store, LogId log, StoredState from, Intent intent
);

/// Finish the intent that stands: steps 1 to 3. Repeatable from any crash, by anybody. Errors:
/// `conflict` (somebody else is ahead: load again), `fenced` (the log was deleted meanwhile, and
/// its state is gone), `unavailable` and the like: call again.
rt::Task<Status> finish_replace(meta::MetadataStore& store, LogId log, StoredState from);

/// Nobody compacts what is trimmed: the cursor moves to the begin of the index record that holds
/// `start`, or to the last record's end when none does. Precondition: no intent stands. Errors:
/// `conflict` (another compactor moved: load again), those of the store. Cost: 1 or 2 reads, and 2
/// writes when it moves.
rt::Task<Result<StoredState>> skip_trimmed(
    meta::MetadataStore& store, LogId log, StoredState from, Offset start
);

/// Finish the intent that stands, if one does, and skip what is trimmed: what any compactor does
/// before it goes on with a log. Errors: as above.
rt::Task<Result<StoredState>> load_finished(meta::MetadataStore& store, LogId log);

/// The value of the compacted record for an intent.
Bytes compacted_value(const Intent& intent);

}  // namespace lakestream::compact
