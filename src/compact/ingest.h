// SPDX-License-Identifier: Apache-2.0
// Ingest: from WAL objects to the spill, each object fetched once whatever the number of logs in
// it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compact/spill.h"
#include "log/compaction_view.h"
#include "objstore/object_store.h"
#include "rt/offload.h"

namespace lakestream::compact {

/// A log and the offset from which its entries are wanted.
struct IngestLog {
    LogId log;
    Offset from;
};

/// One object and what is wanted of it.
struct ObjectWork {
    std::string location;
    std::vector<std::pair<LogId, log::WalkRecord>> sections;
};

/// Group records by object, objects in the order in which the logs need them, whatever the dates
/// in their names. Pure. Left out are compacted records, whose entries have been through here, and
/// those that are void as a whole.
std::vector<ObjectWork> plan_objects(
    std::vector<std::pair<LogId, std::vector<log::WalkRecord>>> logs
);

struct IngestLimits {
    std::size_t records_per_log = 1000;
    std::uint64_t bytes_max = 128 << 20;  // of objects: then tables and logs get their turn
    std::uint64_t spill_bytes_max = 1 << 30;
};

/// Entries of one section that count, in order.
std::vector<SpilledEntry> valid_entries(
    const log::WalkRecord& record, const std::vector<std::pair<std::int32_t, Bytes>>& entries
);

/// What a round did.
struct IngestDone {
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;
    bool more = false;               // a limit was met: call again
    std::map<LogId, Error> damaged;  // logs that cannot go on; the others did
    std::set<LogId> passed;          // what would come next was compacted by another, or trimmed
};

/// Bring entries into the spill. Memory: one object. Errors: `exhausted` (spill disk full), those
/// of the stores. Cost: one scan for each log, one GET for each object.
rt::Task<Result<IngestDone>> ingest(
    log::CompactionView& view,
    objstore::ObjectStore& objects,
    rt::Offloader& offloader,
    Spill& spill,
    std::vector<IngestLog> logs,
    IngestLimits limits
);

}  // namespace lakestream::compact
