// SPDX-License-Identifier: Apache-2.0
// What the index refers to, as far as anybody may still read it (docs/protocols/cleaning.md).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "lakestream/types.h"
#include "meta/metadata_store.h"
#include "objstore/object_store.h"
#include "rt/task.h"

namespace lakestream::clean {

/// Of one log: the objects of index records that end beyond its start.
struct LogReferences {
    bool deleted = false;  // fenced for good: nobody reads it
    /// The created time of the first raw record, or of the last record when none is raw: whatever
    /// is published later counts only in objects dated at least this minus `publish_window` (V0).
    std::optional<WallTime> reached;
    std::unordered_set<std::size_t> raw;  // hashes of locations: an equal one keeps too much
    std::set<std::string> compacted;      // names of Parquet files, below the stream's folder

    bool refers_to(const std::string& location) const {
        return raw.contains(std::hash<std::string>{}(location));
    }
};

/// A put on each shard is answered, so that what is read afterwards was not overtaken (a stale
/// leader cannot answer it). Returns the metadata store's time, the earliest of all shards. Errors:
/// as MetadataStore::write. Cost: 1 write of each shard.
rt::Task<Result<WallTime>> pass_barrier(meta::MetadataStore& store);

/// Whether a key is the barrier's: a change of it means nothing.
bool is_barrier_key(std::string_view key);

/// Precondition: a barrier was passed. Errors: `unavailable` (the scan does not chain from the
/// log's start to its end: nothing may be concluded), `corrupt`, those of the store. Cost: 4 gets,
/// 1 scan.
rt::Task<Result<LogReferences>> load_references(meta::MetadataStore& store, LogId log);

/// References of logs, for one pass.
class References {
  public:
    explicit References(meta::MetadataStore& store) : store_(store) {}

    /// Null when they cannot be told: then everything of the log stays.
    rt::Task<const LogReferences*> of(LogId log);
    /// The same, and kept only if somebody asked for them with `of`.
    rt::Task<std::shared_ptr<const LogReferences>> once(LogId log);
    /// Drop those that any log refers to that there is, by its index and not by what an object says
    /// of itself. Errors: of the store. Memory: References of one log. Cost: 1 scan, and each
    /// log's.
    rt::Task<Status> keep_unreferenced(std::vector<objstore::ObjectInfo>& objects);
    /// Whether those of all logs that were asked for could be told.
    bool complete() const { return complete_; }

  private:
    rt::Task<std::shared_ptr<const LogReferences>> load(LogId log);

    meta::MetadataStore& store_;
    std::map<LogId, std::shared_ptr<const LogReferences>> known_;
    bool complete_ = true;
};

}  // namespace lakestream::clean
