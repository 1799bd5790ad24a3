// SPDX-License-Identifier: Apache-2.0
// TableMetadata: what an Iceberg `vN.metadata.json` says, as a value
// (docs/formats/iceberg-table.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakestream/result.h"

namespace lakestream::table::iceberg {

using Properties = std::map<std::string, std::string>;

struct Snapshot {
    std::int64_t id = 0;
    std::optional<std::int64_t> parent;
    std::int64_t sequence_number = 0;
    std::int64_t timestamp_ms = 0;
    std::string manifest_list;  // location
    Properties summary;         // "operation" included
    std::optional<std::int32_t> schema_id;
    std::string other;  // JSON object: fields we do not know

    bool operator==(const Snapshot&) const = default;
};

/// A branch or tag. How long it is kept is its own business: `other` carries it along.
struct SnapshotRef {
    std::int64_t snapshot = 0;
    std::string type;  // "branch" or "tag"
    std::string other;

    bool operator==(const SnapshotRef&) const = default;
};

/// A schema, partition spec or sort order: known by its number, otherwise kept as it is.
struct Numbered {
    std::int32_t id = 0;
    std::string json;

    bool operator==(const Numbered&) const = default;
};

struct SnapshotLogEntry {
    std::int64_t timestamp_ms = 0;
    std::int64_t snapshot = 0;

    bool operator==(const SnapshotLogEntry&) const = default;
};

struct MetadataLogEntry {
    std::int64_t timestamp_ms = 0;
    std::string file;  // location

    bool operator==(const MetadataLogEntry&) const = default;
};

/// Format version 2 and 3 are read and written back; what we make is version 2. Fields we do not
/// know, statistics among them, are kept.
struct TableMetadata {
    std::int32_t format_version = 2;
    std::string uuid;
    std::string location;  // absolute, no `/` at the end
    std::int64_t last_sequence_number = 0;
    std::int64_t last_updated_ms = 0;
    std::int32_t last_column_id = 0;
    std::int32_t current_schema = 0;
    std::vector<Numbered> schemas;
    std::int32_t default_spec = 0;
    std::vector<Numbered> specs;
    std::int32_t last_partition_id = 0;
    std::int32_t default_sort_order = 0;
    std::vector<Numbered> sort_orders;
    Properties properties;
    std::optional<std::int64_t> current_snapshot;  // of the branch main
    std::map<std::string, SnapshotRef> refs;
    std::vector<Snapshot> snapshots;
    std::vector<SnapshotLogEntry> snapshot_log;
    std::vector<MetadataLogEntry> metadata_log;
    std::string other = "{}";  // JSON object

    bool operator==(const TableMetadata&) const = default;

    /// Null when there is none. Cost: a walk from the newest.
    const Snapshot* find_snapshot(std::int64_t id) const;
    const Numbered* find_schema(std::int32_t id) const;
    const Numbered* find_spec(std::int32_t id) const;
};

/// Errors: `corrupt` (names the field), `unsupported` (format version).
Result<TableMetadata> parse_metadata(std::string_view json);
/// Fields in a fixed order, so equal values give equal text.
std::string to_json(const TableMetadata& metadata);

struct NewTable {
    std::string uuid;
    std::string location;
    std::int64_t now_ms = 0;
    Properties properties;
};

/// An empty table of topic rows: columns and ids as in docs/formats/iceberg-table.md,
/// unpartitioned, sorted by partition and offset. It has no snapshot yet.
TableMetadata new_topic_table(NewTable table);

/// Whether rows of topics fit the table: current schema and spec are the ones above, but for
/// columns that were added as optional. The text says what does not fit; empty when all does.
Result<std::string> why_rows_do_not_fit(const TableMetadata& metadata);

/// Make `snapshot` the newest of branch main, and count its sequence number.
void add_snapshot(TableMetadata& metadata, Snapshot snapshot);

struct Retention {
    std::int64_t age_ms_max = 0;  // of a snapshot; older ones go
    std::size_t count_max = 0;    // of snapshots; the oldest go
};

/// What the table's `history.expire.max-snapshot-age-ms` and `lakestream.snapshots-max` say.
Retention retention_of(const TableMetadata& metadata, Retention if_missing);

/// Forget snapshots that are past one of the limits and that no ref needs: neither a ref's own nor
/// its `min-snapshots-to-keep` ancestors. The files stay where they are, for the orphan sweep.
/// Returns how many went.
std::size_t expire_snapshots(TableMetadata& metadata, const Retention& retention);

/// Note the file that held the version before, and forget the oldest beyond the table's
/// `write.metadata.previous-versions-max` (100).
void log_previous_version(TableMetadata& metadata, std::string file);

}  // namespace lakestream::table::iceberg
