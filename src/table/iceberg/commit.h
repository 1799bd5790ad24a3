// SPDX-License-Identifier: Apache-2.0
// Exactly-once appends to a table: positions, plans and the files of a commit. Pure: no IO, no time
// (docs/protocols/table-commit.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakestream/bytes.h"
#include "lakestream/types.h"
#include "table/iceberg/manifest.h"
#include "table/iceberg/metadata.h"

namespace lakestream::table::iceberg {

/// Summary field and table property that hold the position as JSON, and those with the commit's id.
inline constexpr std::string_view position_key = "lakestream.position";
inline constexpr std::string_view commit_key = "lakestream.commit-id";
/// The tag that stays on our last snapshot.
inline constexpr std::string_view position_tag = "lakestream";

/// How far a table has a stream: every record before it is in the table once.
struct Position {
    std::string table;   // its uuid
    std::string stream;  // incarnation: a stream made again under its name has another
    std::map<LogId, Offset> next;

    /// Where the log goes on; 0 for a log the table has not seen.
    Offset of(LogId log) const;
    bool operator==(const Position&) const = default;
};

std::string to_json(const Position& position);
/// Errors: `corrupt`.
Result<Position> parse_position(std::string_view json);

/// The position in the summary of our last snapshot.
/// Errors: `not_found`: tag, snapshot or position are gone; `corrupt`.
Result<Position> position_of(const TableMetadata& metadata);

/// Part of the stream, ready to be committed: a stored data file with the rows of these ranges.
struct PreparedFile {
    std::map<LogId, OffsetRange> ranges;  // none empty
    std::optional<TableFile> file;        // path relative to the table; none if there are no rows
};

/// Who writes a table: it has to be this one, fed by this stream.
struct Source {
    std::string table;  // uuid; empty: whatever is there
    std::string stream;
};

enum class Verdict : std::uint8_t {
    append,       // commit the files
    nothing_new,  // the table has it all already: this or another committer's work
    misaligned,   // prepare again from the position: a file begins elsewhere
    suspended,    // not our table any more: an explicit command takes it over
};

/// What becomes of the rows of the snapshot that a commit starts from.
enum class RowsBefore : std::uint8_t { kept, dropped };

struct AppendPlan {
    Verdict verdict = Verdict::suspended;
    RowsBefore rows = RowsBefore::kept;
    std::string reason;              // misaligned, suspended
    Position position;               // append: after the commit; else of the table, if known
    std::vector<std::size_t> files;  // of those given, the ones to commit
};

/// Drop files that lie before the table's position; the first of the rest must begin exactly there,
/// and each next one where the one before it ends, log by log. `files` are in that order.
AppendPlan plan_append(
    const TableMetadata& metadata, const Source& source, std::span<const PreparedFile> files
);

/// Start `stream` from its beginning, without the rows of whatever fed the table before.
/// `nothing_new`: it feeds the table already. `suspended`: its rows do not fit.
AppendPlan plan_take_over(const TableMetadata& metadata, std::string stream);

/// Names and numbers that make a commit unique.
struct CommitIds {
    std::int64_t snapshot = 0;  // positive, not yet in the table
    std::string commit;         // uuid, names the files
    std::array<std::byte, 16> sync{};
};

/// Manifests to be replaced by one: small data manifests of `spec`, oldest first, once there are a
/// hundred of them; up to 8 MiB. Empty when nothing is to be done.
std::vector<std::size_t> manifests_to_merge(
    std::span<const ManifestInfo> manifests, std::int32_t spec
);

/// The snapshot that a commit starts from.
struct CommitBase {
    TableMetadata metadata;
    std::string metadata_file;            // location; empty for a new table
    std::vector<ManifestInfo> manifests;  // of its current snapshot; none if the rows are dropped
    /// Files of the manifests that `manifests_to_merge` named, in that order.
    std::vector<Bytes> to_merge;
    RowsBefore rows = RowsBefore::kept;
};

/// A file to be stored, by its name relative to the table's folder.
struct CommitFile {
    std::string name;
    Bytes body;
};

struct Commit {
    std::vector<CommitFile> files;  // manifests and their list: to be stored before the metadata
    TableMetadata metadata;         // the next version
};

/// The next version of the table. `position` becomes the table's; `added` may be empty. The
/// snapshot's time is `now_ms`, but never before the base's.
/// Errors: `corrupt` (a manifest to be merged), `unsupported`.
Result<Commit> build_commit(
    CommitBase base,
    const Position& position,
    std::span<const TableFile> added,
    const CommitIds& ids,
    std::int64_t now_ms
);

}  // namespace lakestream::table::iceberg
