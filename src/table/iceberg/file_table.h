// SPDX-License-Identifier: Apache-2.0
// FileTable: an Iceberg table of files alone, in a folder of an object store, without a catalog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "objstore/object_store.h"
#include "rt/offload.h"
#include "rt/task.h"
#include "table/iceberg/commit.h"

namespace lakestream::table::iceberg {

struct FileTableOptions {
    /// Name of the table's folder in the store: `<prefix>/<namespace>/<topic>`.
    std::string folder;
    /// The same folder for other readers: an absolute path or a URI. Only a new table takes it
    /// over.
    std::string location;
    /// Snapshots that later commits keep, unless the table's `history.expire.max-snapshot-age-ms`
    /// or `lakestream.snapshots-max` say otherwise.
    Retention retention{.age_ms_max = 5L * 24 * 3600 * 1000, .count_max = 100};
};

/// A version of the table as it was read.
struct TableVersion {
    std::int64_t version = 0;  // N of vN.metadata.json; 1 is the first
    std::int64_t hint = 0;     // what version-hint.text said; 0: nothing useful
    TableMetadata metadata;
};

struct CommitResult {
    Verdict verdict = Verdict::suspended;  // append: this call did it
    std::string reason;
    Position position;         // of the table now; empty when suspended
    std::int64_t version = 0;  // of the table now
};

/// Any number of these may write one table, from any node: of two commits on one version the store
/// lets one pass, and positions keep what is committed twice out. Nothing is ever deleted. Calls
/// may run at the same time, on any executor.
///
/// Errors of all calls: those of the store, `corrupt` and `unsupported` (a file of the table, by
/// name). Costs are in object requests.
class FileTable {
  public:
    /// `store` without a cache: the hint is written again and again.
    FileTable(objstore::ObjectStore& store, rt::Offloader& offloader, FileTableOptions options)
        : store_(store), offloader_(offloader), options_(std::move(options)) {}

    /// The newest version. Errors: `not_found` (no table). Cost: 2 GET, 1 HEAD; more when the hint
    /// is old.
    rt::Task<Result<TableVersion>> load();

    /// The newest version, of a table made now if there is none. `start.table` is not looked at.
    /// Errors: `outcome_unknown` (call again).
    rt::Task<Result<TableVersion>> open_or_create(Position start);

    /// Append files that are stored already, at the table's position or not at all. Loads first, so
    /// it may be repeated with the same files after any error: that is what ends
    /// `outcome_unknown`. `conflict`: others were faster many times. Cost: `load`, 1 GET, 4 PUT, 1
    /// HEAD.
    rt::Task<Result<CommitResult>> append(Source source, std::vector<PreparedFile> files);

    /// Feed the table from the beginning of this stream, by somebody's explicit command: the next
    /// snapshot has no rows, those of the stream before stay in the snapshots before.
    /// `nothing_new`: it is this stream's already. Errors: as of `append`.
    rt::Task<Result<CommitResult>> take_over(std::string stream);

    /// Live files of a snapshot: data files, then delete files. Cost: 1 GET, and 1 for each
    /// manifest.
    rt::Task<Result<std::vector<TableFile>>> load_files(
        const TableMetadata& metadata, const Snapshot& snapshot
    );

    /// Name in the store of a file that the table knows by its location.
    /// Errors: `unsupported`: it lies outside of the table's folder.
    Result<std::string> object_name(const TableMetadata& metadata, std::string_view location) const;
    /// Name in the store of a file given relative to the table's folder, such as a PreparedFile's.
    std::string object_name(std::string_view relative) const;

  private:
    /// Decides what a version of the table needs.
    using Planner = std::function<AppendPlan(const TableMetadata&, std::span<const PreparedFile>)>;

    rt::Task<std::int64_t> read_hint();
    rt::Task<Result<bool>> exists(std::int64_t version);
    rt::Task<Result<std::int64_t>> newest_from(std::int64_t known);
    rt::Task<Result<std::int64_t>> newest_listed();
    rt::Task<Result<TableVersion>> read_version(std::int64_t version, std::int64_t hint);
    rt::Task<Result<Bytes>> read_file(const TableMetadata& metadata, std::string location);
    rt::Task<Status> put_new(std::string relative, Bytes body);
    rt::Task<Result<CommitBase>> load_base(const TableVersion& from, RowsBefore rows);
    rt::Task<Status> write_hint(const TableVersion& version);
    rt::Task<void> point_to(const TableVersion& version);
    /// Store version `base + 1`. Errors: `already_exists`, `outcome_unknown` (of the version).
    rt::Task<Status> put_next(
        CommitBase base, std::int64_t version, Position position, std::vector<TableFile> added
    );
    rt::Task<Result<CommitResult>> commit(Planner planner, std::vector<PreparedFile> files);

    objstore::ObjectStore& store_;
    rt::Offloader& offloader_;
    const FileTableOptions options_;
};

}  // namespace lakestream::table::iceberg
