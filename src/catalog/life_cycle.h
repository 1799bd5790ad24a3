// SPDX-License-Identifier: Apache-2.0
// LifeCycle: how streams come to be and go, as steps on stored records that anyone may finish.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "catalog/stored_stream.h"
#include "catalog/writes.h"

namespace lakestream::catalog {

/// What the catalog needs of this node's log engine.
class LogFencer {
  public:
    virtual ~LogFencer() = default;
    /// Refuse further appends to a log and forget it. Called from any executor.
    virtual rt::Task<void> fence(LogId log) = 0;
};

/// The states of a stream's config record, and what leaves each:
///
///     (none)        create  claim the name                              -> PROVISIONING
///     PROVISIONING  settle  map and register logs                       -> ACTIVE
///                   settle  this incarnation was dropped before         -> (none)
///     ACTIVE        change  properties                                  -> ACTIVE
///     ACTIVE        grow    claim more partitions                       -> GROWING
///     GROWING       settle  map and register the new logs               -> ACTIVE
///     ACTIVE        drop    take over                                   -> ABORTING
///     PROVISIONING  drop    take over                                   -> ABORTING
///     ABORTING      settle  bury mappings, fence, drain, purge, grave   -> (none)
///     DROPPED       settle  (left by others) grave                      -> (none)
///
/// GROWING is ACTIVE with a pending expansion: the stream serves the partitions that it has, and
/// what leaves ACTIVE leaves GROWING too.
///
/// Each step is conditional on the versions it read, and repeating one changes nothing, so any
/// number of nodes may work on one stream and any may crash. A lost answer is resolved by the next
/// pass, which reads what is there. Thread-safe; a task ends on its caller's executor.
class LifeCycle {
  public:
    LifeCycle(meta::MetadataStore& store, LogFencer& fencer) : store_(store), fencer_(fencer) {}

    /// Claim the name and provision. Precondition: `validate`d. Errors: `already_exists`.
    rt::Task<Result<VersionedStream>> create(StreamSpec spec);
    /// As Catalog::change_properties and Catalog::grow.
    rt::Task<Status> change_properties(StreamName name, Incarnation only, PropertiesChange change);
    rt::Task<Status> grow(StreamName name, Incarnation only, std::uint32_t partitions);
    /// Whatever has the name, or only this incarnation. Errors: `not_found`; `unavailable` when
    /// writers of another engine hold a log for 30 s.
    rt::Task<Status> drop(StreamName name, std::optional<Incarnation> only);
    /// Finish what was begun, until the stream is active, or there is none.
    rt::Task<Result<std::optional<VersionedStream>>> settle(StreamName name);

  private:
    enum class Claim : bool { taken, mine };
    enum class Pass : bool { unfinished, finished };
    struct Settled {
        Pass pass = Pass::unfinished;
        std::optional<VersionedStream> stream;
    };

    rt::Task<Result<Claim>> claim(StreamSpec spec, Owner mine);
    rt::Task<Result<Settled>> settle_once(StreamName name);
    rt::Task<Status> advance(StreamName name, Stored<StreamConfig> config);
    rt::Task<Status> put_config(StreamName name, Stored<StreamConfig> config);

    rt::Task<Status> provision(StreamName name, Stored<StreamConfig> config);
    rt::Task<Result<std::vector<LogId>>> map_logs(
        StreamName name, Owner owner, std::vector<StoredPartition> partitions
    );
    rt::Task<Result<std::vector<LogId>>> allocate(std::size_t count);
    rt::Task<Status> register_logs(
        StreamName name,
        Owner owner,
        std::vector<StoredPartition> partitions,
        std::vector<LogId> logs
    );

    /// The config of this stream if it is active. Errors: `not_found`.
    rt::Task<Result<Stored<StreamConfig>>> read_own(StreamName name, Incarnation only);
    rt::Task<Status> change_once(StreamName name, Incarnation only, const PropertiesChange& change);
    rt::Task<Result<Pass>> grow_once(StreamName name, Incarnation only, std::int32_t target);
    rt::Task<Status> expand(StreamName name, Stored<StreamConfig> config);

    /// What is dropped: the incarnation that was asked for or found first. One made later is not
    /// ours to drop.
    struct Dropping {
        std::optional<std::string> incarnation;
        bool found = false;
    };
    rt::Task<Result<Pass>> drop_once(StreamName name, Dropping& dropping);
    rt::Task<Status> bury(StreamName name, Stored<StreamConfig> config);
    rt::Task<Result<std::set<LogId>>> bury_mappings(
        StreamName name, Owner owner, std::vector<StoredPartition> partitions
    );
    rt::Task<Status> fence(std::set<LogId> logs);
    rt::Task<Status> drain(std::set<LogId> logs);
    rt::Task<Status> purge(std::set<LogId> logs);
    rt::Task<Status> bury_metadata(
        StreamName name, Owner owner, std::vector<StoredPartition> partitions
    );
    rt::Task<Status> close_grave(StreamName name, Stored<StreamConfig> config);
    rt::Task<Status> remember_dropped(StreamName name, std::string incarnation);
    /// Whether this incarnation was dropped before; the grave of another is removed.
    rt::Task<Result<bool>> in_grave(StreamName name, std::string incarnation);

    meta::MetadataStore& store_;
    LogFencer& fencer_;
};

}  // namespace lakestream::catalog
