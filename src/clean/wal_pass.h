// SPDX-License-Identifier: Apache-2.0
// WalCleaner: deletes WAL objects that no log needs any more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "clean/metrics.h"
#include "clean/references.h"
#include "clean/settings.h"
#include "clean/waiting_room.h"
#include "objstore/object_store.h"
#include "rt/task.h"

namespace lakestream::clean {

/// What one pass has to go by.
struct PassTime {
    MonoTime now;
    WallTime metadata;     // the metadata store's, at the barrier
    bool settled = false;  // nobody goes on with an object that was begun before the pass
};

/// The rules of docs/protocols/cleaning.md for objects under the names of WAL objects. One pass at
/// a time.
class WalCleaner {
  public:
    WalCleaner(const CleanSettings& settings, objstore::ObjectStore& objects, CleanMetrics& metrics)
        : settings_(settings),
          objects_(objects),
          metrics_(metrics),
          room_(settings.readers_grace) {}

    /// Look at up to `objects_per_pass` objects, go on from there at the next pass; delete what is
    /// ripe. Errors: of the object store, the first of them; what it did not concern is cleaned,
    /// and the next pass goes on behind it. Cost: 1 LIST for each 1000 objects, 1 GET for each that
    /// is new, References of each log, 1 DELETE for each 1000 that go.
    rt::Task<Status> pass(References& references, PassTime time);

    /// The next pass begins with the first object: a round has ended.
    bool at_begin() const { return after_.empty(); }
    /// When something that is only too young may be looked at again, by the metadata store's time.
    std::optional<WallTime> next() const { return round_.next; }
    bool waits() const { return round_.unsettled || room_.waits(); }
    std::size_t waiting() const { return room_.size(); }

  private:
    /// What its index block says.
    struct Known {
        std::vector<LogId> logs;
        std::uint64_t pass = 0;  // the first that saw it
    };

    /// What the passes of a round have found so far, from the first object on.
    struct Round {
        std::optional<WallTime> next;
        bool unsettled = false;          // an object was new, and another look may free it
        std::uint64_t pinned_bytes = 0;  // of old objects
        std::map<LogId, std::uint64_t> pinned_by_log;
    };

    rt::Task<Status> look_at_stretch(
        References& references, PassTime time, std::vector<objstore::ObjectInfo>& ripe
    );
    rt::Task<Status> look_at(
        const objstore::ObjectInfo& object,
        References& references,
        PassTime time,
        std::vector<objstore::ObjectInfo>& ripe
    );
    rt::Task<Result<bool>> is_free(
        const objstore::ObjectInfo& object, References& references, PassTime time
    );
    rt::Task<Result<const Known*>> open(const objstore::ObjectInfo& object);
    void look_again(WallTime date, Duration age);
    void forget(const std::string& name);
    bool is_settled(const Known& known, PassTime time) const;
    rt::Task<Status> remove(std::vector<objstore::ObjectInfo> ripe);
    void tell_pinned();

    const CleanSettings& settings_;
    objstore::ObjectStore& objects_;
    CleanMetrics& metrics_;
    WaitingRoom room_;
    std::string after_;  // where the next pass begins
    Round round_;
    std::map<std::string, Known> known_;
    std::size_t ids_ = 0;     // of logs in `known_`
    std::uint64_t pass_ = 0;  // number of the last
};

}  // namespace lakestream::clean
