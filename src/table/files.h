// SPDX-License-Identifier: Apache-2.0
// TableFiles: the files that tables and compacted logs are made of; no Arrow in this header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"

namespace lakestream::table {

struct RowHeader {
    std::string_view key;
    std::optional<std::span<const std::byte>> value;
};

/// One record as a table row (docs/formats/table-data-file.md). Borrowed for one call. A null key
/// or value and an empty one are different things.
struct Row {
    std::int32_t partition = 0;
    std::int64_t offset = 0;
    std::int64_t timestamp_ms = 0;
    std::optional<std::span<const std::byte>> key;
    std::optional<std::span<const std::byte>> value;
    std::span<const RowHeader> headers;
};

/// Statistics of one leaf column, as Iceberg's manifests carry them. Bounds are Iceberg's
/// single-value serialisation.
struct ColumnStats {
    std::int64_t size_bytes = 0;   // on disk
    std::int64_t value_count = 0;  // nulls included
    std::int64_t null_count = 0;
    std::optional<Bytes> lower;
    std::optional<Bytes> upper;
};

/// A finished data file on local disk.
struct DataFile {
    std::string path;
    std::int64_t size_bytes = 0;
    std::int64_t rows = 0;
    std::map<std::int32_t, ColumnStats> columns;  // by field id
    std::vector<std::int64_t> split_offsets;      // of its row groups
};

/// Writes one Parquet data file of a table. Memory: one row group, compressed. Dropping it
/// unfinished removes the file. Errors: `exhausted` (disk, memory), `unsupported` (the path); after
/// one of these it can only be dropped.
class DataFileWriter {
  public:
    virtual ~DataFileWriter() = default;
    /// Rows come in the order of (partition, offset), each pair once. What a column cannot hold is
    /// stored as table/stored_form.h says. Errors: also `invalid_argument` (the order; not added).
    virtual Status add(const Row& row) = 0;
    /// Bytes written and held so far, about.
    virtual std::uint64_t bytes() const = 0;
    virtual Result<DataFile> finish() = 0;
};

/// Reads rows of one data file back, in order.
class DataFileReader {
  public:
    virtual ~DataFileReader() = default;
    /// The next row; none at the end. It lives until the next call. Errors: `corrupt`, or what
    /// reading the file gave; after an error the same again.
    virtual Result<std::optional<Row>> next() = 0;
};

/// One entry (as appended) on its way to a compacted object.
struct CompactedEntry {
    OffsetRange range;
    std::int64_t timestamp_ms = 0;     // of the index record
    std::int64_t cumulative_size = 0;  // of the log up to and including this entry
    Bytes payload;
};

/// A finished compacted pair on local disk: `ursa-<uuid>.parquet` and `.index`.
struct CompactedPair {
    std::string parquet_path;
    std::string index_path;
    std::int64_t parquet_bytes = 0;
    std::int64_t payload_bytes = 0;
    std::int64_t entries = 0;
};

/// Writes a compacted pair, byte-compatible with Ursa 1.0 (docs/formats/compacted-object.md).
/// Memory: about 1 MiB and 8 bytes for each entry; payloads are shared until they are written.
/// Dropping it unfinished removes the files. Errors: as DataFileWriter's.
class CompactedWriter {
  public:
    virtual ~CompactedWriter() = default;
    /// Ranges ascend, and each has records. Errors: also `invalid_argument` (not added).
    virtual Status add(const CompactedEntry& entry) = 0;
    /// Payload so far.
    virtual std::uint64_t bytes() const = 0;
    /// Errors: also `invalid_argument` (no entries).
    virtual Result<CompactedPair> finish() = 0;
};

/// What is read of a Parquet file at once: a run of entries, and where its bytes are.
struct RowGroup {
    int number = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Entries of one row group, from its bytes. Memory: those, 56 bytes for each entry, and a page.
class CompactedRows {
  public:
    virtual ~CompactedRows() = default;
    /// Whether the entries have been found and checked: then `read` only looks up, and may be
    /// called on any thread, by several at a time.
    virtual bool ready() const = 0;
    /// Whole entries from the one that holds `from` on, or the next one behind a gap, until
    /// `bytes_max` of payload are reached or the group ends; at least one. Cheapest when it begins
    /// where the last call ended. Payloads keep at most four times their size of memory. Errors:
    /// `out_of_range` (nothing from there on in this group), `corrupt`; it may be asked again.
    virtual Result<std::vector<CompactedEntry>> read(Offset from, std::uint64_t bytes_max) = 0;
    /// Memory it holds.
    virtual std::uint64_t bytes() const = 0;
};

/// What the index and the Parquet footer of a compacted object say; it reads no stored file, but
/// tells what to fetch. Thread-safe.
class CompactedReader {
  public:
    virtual ~CompactedReader() = default;
    /// The row group with the entry that holds `from`, or the next one behind a gap, and those
    /// behind it with the first `bytes` from there on, about. They lie inside the file. Cost: two
    /// binary searches. Errors: `out_of_range` (nothing from there on).
    virtual Result<std::vector<RowGroup>> find(Offset from, std::uint64_t bytes) const = 0;
    /// `stored` is what the file has there. Errors: `corrupt`.
    virtual Result<std::unique_ptr<CompactedRows>> open(const RowGroup& group, Bytes stored)
        const = 0;
    /// The pairs of the Parquet footer (docs/formats/compacted-object.md); none by other writers
    /// but those they need.
    virtual std::map<std::string, std::string> footer() const = 0;
    /// Memory it holds: 40 bytes for each entry, about.
    virtual std::uint64_t bytes() const = 0;
};

/// Ranged reads of one stored file, for readers; blocking, called on an offloaded thread.
class RandomFile {
  public:
    virtual ~RandomFile() = default;
    virtual std::uint64_t size() const = 0;
    /// Exactly those bytes. Precondition: they are inside the file.
    virtual Result<Bytes> read(std::uint64_t offset, std::uint64_t count) = 0;
};

/// Makes writers and readers; the one door to the Arrow module. Thread-safe; what it makes is not.
/// All calls may block and use much CPU: offload them.
class TableFiles {
  public:
    virtual ~TableFiles() = default;
    /// `zstd_level` 1 to 19. Errors: `exhausted`, `unsupported` (path).
    virtual Result<std::unique_ptr<DataFileWriter>> write_data_file(
        std::string path, int zstd_level
    ) = 0;
    /// Errors: `corrupt`, `unsupported` (not a data file of a log's table), or what reading gave.
    virtual Result<std::unique_ptr<DataFileReader>> read_data_file(std::unique_ptr<RandomFile> file
    ) = 0;
    /// `folder` takes both files; `uuid` names them; the footer names `log`. Both files are to be
    /// stored, the index first.
    virtual Result<std::unique_ptr<CompactedWriter>> write_compacted(
        std::string folder, std::string uuid, LogId log
    ) = 0;
    /// `index` is the whole index; `parquet_tail` ends the Parquet file of `parquet_bytes`, and has
    /// its footer (`parquet_footer_bytes`). Memory while it runs: 12 times the index. Errors:
    /// `corrupt` (also: not a pair), `unsupported` (entries of another format), `exhausted`.
    virtual Result<std::unique_ptr<CompactedReader>> read_compacted(
        std::uint64_t parquet_bytes, Bytes parquet_tail, Bytes index
    ) = 0;
};

/// Load the Arrow module (`liblakestream_tables.so`, next to the program or in ../lib). Roles that
/// write no tables never call it. Errors: `unsupported`, naming the file and what to do.
Result<std::unique_ptr<TableFiles>> load_table_files();

}  // namespace lakestream::table
