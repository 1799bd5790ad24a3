// SPDX-License-Identifier: Apache-2.0
// Manifests and manifest lists of format version 2 (docs/formats/iceberg-table.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lakestream/bytes.h"
#include "lakestream/result.h"
#include "table/files.h"
#include "table/iceberg/avro.h"

namespace lakestream::table::iceberg {

enum class FileContent : std::uint8_t { data = 0, position_deletes = 1, equality_deletes = 2 };

/// A data or delete file with its statistics, each by field id. Partition values are left out: of
/// partitioned files only what readers of rows need is kept.
struct TableFile {
    FileContent content = FileContent::data;
    std::string path;  // location
    std::string format = "PARQUET";
    std::int64_t records = 0;
    std::int64_t bytes = 0;
    std::map<std::int32_t, std::int64_t> column_bytes;
    std::map<std::int32_t, std::int64_t> value_counts;
    std::map<std::int32_t, std::int64_t> null_counts;
    std::map<std::int32_t, std::int64_t> nan_counts;
    std::map<std::int32_t, Bytes> lower_bounds;
    std::map<std::int32_t, Bytes> upper_bounds;
    std::optional<Bytes> key_metadata;
    std::vector<std::int64_t> split_offsets;
    std::vector<std::int32_t> equality_ids;
    std::optional<std::int32_t> sort_order;
    std::optional<std::string> referenced_data_file;

    bool operator==(const TableFile&) const = default;
};

/// A data file of ours, stored at `path`, in sort order `sort_order`.
TableFile to_table_file(const DataFile& file, std::string path, std::int32_t sort_order);

enum class EntryStatus : std::uint8_t { existing = 0, added = 1, deleted = 2 };

/// One row of a manifest. What is absent is inherited from the manifest list.
struct ManifestEntry {
    EntryStatus status = EntryStatus::added;
    std::optional<std::int64_t> snapshot;
    std::optional<std::int64_t> sequence_number;
    std::optional<std::int64_t> file_sequence_number;
    TableFile file;

    bool operator==(const ManifestEntry&) const = default;
};

/// Statistics of one partition field over a manifest; ours have none.
struct FieldSummary {
    bool contains_null = false;
    std::optional<bool> contains_nan;
    std::optional<Bytes> lower;
    std::optional<Bytes> upper;

    bool operator==(const FieldSummary&) const = default;
};

/// One row of a manifest list.
struct ManifestInfo {
    std::string path;  // location
    std::int64_t bytes = 0;
    std::int32_t spec = 0;
    std::int32_t content = 0;  // 0: data files, 1: delete files
    std::int64_t sequence_number = 0;
    std::int64_t min_sequence_number = 0;
    std::int64_t added_snapshot = 0;
    std::int64_t added_files = 0;
    std::int64_t existing_files = 0;
    std::int64_t deleted_files = 0;
    std::int64_t added_rows = 0;
    std::int64_t existing_rows = 0;
    std::int64_t deleted_rows = 0;
    std::vector<FieldSummary> partitions;
    std::optional<Bytes> key_metadata;

    bool operator==(const ManifestInfo&) const = default;
};

/// Reads a manifest, one entry at a time, with everything inherited filled in.
class ManifestReader {
  public:
    /// `info` is the manifest's row in the list. Errors: `corrupt`, `unsupported`.
    static Result<ManifestReader> open(Bytes file, const ManifestInfo& info);
    /// None at the end. Errors: `corrupt`, `exhausted`.
    Result<std::optional<ManifestEntry>> next();

  private:
    ManifestReader(AvroReader reader, const ManifestInfo& info)
        : reader_(std::move(reader)),
          added_snapshot_(info.added_snapshot),
          sequence_number_(info.sequence_number) {}

    AvroReader reader_;
    std::int64_t added_snapshot_;
    std::int64_t sequence_number_;
};

/// What a manifest of ours says about the table.
struct ManifestHeader {
    std::string schema_json;
    std::int32_t schema = 0;
    std::int32_t spec = 0;  // unpartitioned
    std::array<std::byte, 16> sync{};
};

/// Writes a manifest of unpartitioned data files.
class ManifestWriter {
  public:
    /// `snapshot` is the one being made; its `sequence_number` is inherited by what it adds.
    ManifestWriter(
        const ManifestHeader& header, std::int64_t snapshot, std::int64_t sequence_number
    );

    /// Entries of earlier snapshots must have all that could be inherited.
    void add(const ManifestEntry& entry);

    struct Finished {
        Bytes file;
        ManifestInfo info;
    };
    Finished finish(std::string path);

  private:
    AvroWriter writer_;
    ManifestInfo info_;
};

/// The rows of a manifest list, in order. Errors: `corrupt`, `unsupported`, `exhausted`.
Result<std::vector<ManifestInfo>> read_manifest_list(Bytes file);

struct ManifestListHeader {
    std::int64_t snapshot = 0;
    std::optional<std::int64_t> parent;
    std::int64_t sequence_number = 0;
    std::array<std::byte, 16> sync{};
};

Bytes write_manifest_list(const ManifestListHeader& header, const std::vector<ManifestInfo>& rows);

}  // namespace lakestream::table::iceberg
