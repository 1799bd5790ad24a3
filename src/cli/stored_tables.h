// SPDX-License-Identifier: Apache-2.0
// StoredTables: the Iceberg tables of a data folder, read without a catalog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compact/compacted_objects.h"
#include "objstore/object_store.h"
#include "server/blocking.h"
#include "table/iceberg/file_table.h"

namespace lakestream::cli {

/// The newest version of a table, and its live files.
struct LoadedTable {
    std::string folder;  // `<namespace>/<topic>`
    table::iceberg::TableVersion version;
    Result<table::iceberg::Position> position;    // not_found: it is not ours any more
    std::vector<table::iceberg::TableFile> data;  // in the order of their commits
    std::size_t delete_files = 0;

    /// Null when nothing was ever committed.
    const table::iceberg::Snapshot* snapshot() const {
        const auto& metadata = version.metadata;
        return metadata.current_snapshot ? metadata.find_snapshot(*metadata.current_snapshot)
                                         : nullptr;
    }
};

/// Whether a file of another length than its metadata says is damage, or is read all the same.
enum class Length : std::uint8_t { exact, any };

/// Smallest and largest value of a number column, as the metadata has them.
struct Bounds {
    std::optional<std::int64_t> lower;
    std::optional<std::int64_t> upper;
};

Bounds partition_bounds(const table::iceberg::TableFile& file);
Bounds offset_bounds(const table::iceberg::TableFile& file);

/// `<namespace>/<topic>` of a name on the command line: without a namespace, Kafka's.
std::string table_folder(std::string_view topic);

/// Why nothing is committed to the table: what a committer of this stream would say of it. Empty:
/// it goes on. `stream` is the incarnation of the topic of that name; empty: the one that the table
/// says it is fed by.
std::string why_suspended(const LoadedTable& table, std::string stream);

/// What to do about a table that is suspended.
std::string suspended_remedy(std::string_view folder);

/// What to do about a damaged table. `folder` is `<namespace>/<topic>`.
std::string table_remedy(std::string_view folder);

/// An error of a table, with its name and what to do.
Error table_error(Error error, std::string_view folder);

/// Blocking calls, from the command's own thread. Nothing is written. Every file that is read is
/// read whole, so that its stored checksum is compared. Errors name the file.
class StoredTables {
  public:
    /// All of it outlives this; `executor` runs the store's calls.
    struct Seams {
        objstore::ObjectStore& store;
        rt::Executor& executor;
        rt::Offloader& offloader;
        compact::TableFilesLoader& loader;
    };

    explicit StoredTables(Seams seams) : seams_(seams) {}

    /// `<namespace>/<topic>` of all tables. Cost: one LIST for each.
    Result<std::vector<std::string>> list();
    /// Errors: `not_found` (no table), `corrupt` (also: a file is missing).
    Result<LoadedTable> load(const std::string& folder);
    /// Rows of a data file; `file` outlives them. Memory: the file. Errors, of reading too:
    /// `corrupt` (also: missing, or not as long as the metadata says), `unsupported` (path,
    /// format).
    Result<std::unique_ptr<table::DataFileReader>> open(
        const LoadedTable& table, const table::iceberg::TableFile& file, Length length
    );
    /// As `FileTable::take_over`.
    Result<table::iceberg::CommitResult> take_over(const std::string& folder, std::string stream);
    /// Whether a file that the metadata names is there.
    Status probe(const LoadedTable& table, const std::string& location);

  private:
    Result<std::unique_ptr<table::DataFileReader>> read(
        const LoadedTable& table, const table::iceberg::TableFile& file, Length length
    );
    table::iceberg::FileTable table_of(const std::string& folder) const;
    Status check_hint(const std::string& folder, std::int64_t newest);

    template <class T>
    T run(rt::Task<T> task) {
        return server::run_blocking(seams_.executor, std::move(task));
    }

    Seams seams_;
};

}  // namespace lakestream::cli
