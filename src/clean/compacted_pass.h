// SPDX-License-Identifier: Apache-2.0
// CompactedCleaner: deletes compacted pairs that no index record and no intent names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "clean/metrics.h"
#include "clean/references.h"
#include "clean/settings.h"
#include "clean/waiting_room.h"
#include "clean/wal_pass.h"
#include "objstore/object_store.h"
#include "rt/task.h"

namespace lakestream::clean {

/// The rules of docs/protocols/cleaning.md for the files of compacted objects. Files whose names
/// are not of the form that compactors give are left alone. One pass at a time.
class CompactedCleaner {
  public:
    struct Seams {
        meta::MetadataStore& metadata;
        objstore::ObjectStore& objects;
    };

    CompactedCleaner(const CleanSettings& settings, Seams seams, CleanMetrics& metrics)
        : settings_(settings), seams_(seams), metrics_(metrics), room_(settings.readers_grace) {}

    /// Look at up to `objects_per_pass` files (one more, so that a pair is never torn), go on from
    /// there at the next pass; delete what is ripe. Memory: those, and References of one log.
    /// Errors: of the stores; of one folder or file, when the others were cleaned. Cost: 1 LIST for
    /// each 1000 files; of each folder with files 1 read for each partition, and its References; 1
    /// write for each partition and 2 DELETEs when some go.
    rt::Task<Status> pass(References& references, PassTime time);

    /// The next pass begins with the first file: a round has ended.
    bool at_begin() const { return after_.empty(); }
    bool waits() const { return room_.waits(); }
    std::size_t waiting() const { return room_.size(); }

  private:
    /// Files of one folder by name below it, with their sizes.
    using Files = std::map<std::string, std::uint64_t>;
    enum class Fresh : bool { no, yes };

    rt::Task<Result<std::map<std::string, Files>>> list_stretch();
    rt::Task<Status> clean_folder(
        const std::string& folder, const Files& files, References& references, PassTime time
    );
    /// The logs that a stream of this name has. Errors: also `corrupt`.
    rt::Task<Result<std::vector<LogId>>> logs_of(catalog::StreamName name);
    /// Those of the files, by the names of their Parquet files, that the logs need. Errors: also
    /// `unavailable` (that cannot be told).
    rt::Task<Result<std::set<std::string>>> needed_by(
        const std::vector<LogId>& logs, const Files& files, References& references
    );
    /// After it, no compactor that has stored files before can refer to them.
    rt::Task<Status> pass_generation(LogId log);
    rt::Task<Status> remove(
        const std::string& folder, const Files& files, const std::vector<std::string>& ripe
    );

    const CleanSettings& settings_;
    Seams seams_;
    CleanMetrics& metrics_;
    WaitingRoom room_;
    std::string after_;  // where the next pass begins
};

}  // namespace lakestream::clean
