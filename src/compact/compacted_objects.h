// SPDX-License-Identifier: Apache-2.0
// CompactedObjects: how the log engine reads what compaction wrote.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "compact/piece_cache.h"
#include "compact/piece_memory.h"
#include "log/compacted_source.h"
#include "meta/metadata_store.h"
#include "objstore/object_store.h"
#include "rt/future.h"
#include "rt/offload.h"
#include "rt/scope.h"
#include "table/files.h"

namespace lakestream::compact {

/// The one place that loads the Arrow module, when somebody needs it for the first time.
/// Thread-safe; blocks: call it on an offloaded thread.
class TableFilesLoader {
  public:
    /// Errors: as table::load_table_files; tried again at the next call.
    Result<table::TableFiles*> get();

  private:
    std::mutex mutex_;
    std::unique_ptr<table::TableFiles> files_;
};

/// `<namespace>/<name>`: where a stream's compacted objects are.
std::string compacted_folder(std::string_view ns, std::string_view name);

/// Of an object, its index, its footer and the row groups that are asked for are fetched, each once
/// for all who ask, and kept by last use. All of them, fetched, kept and in use, are within
/// `bytes_max`: a quarter for indexes and footers, the rest for row groups; who finds no room waits
/// in the order of asking, and one that is larger than all is alone. The row groups behind what a
/// read gives are fetched ahead while there is room (`PieceCache::get_ahead`). Safe from any
/// executor. Cost: of an object 2 HEADs and 2 GETs, of a row group 1 GET, nothing while they are
/// kept; 1 metadata get for each log.
class CompactedObjects final : public log::CompactedSource {
  public:
    struct Seams {
        objstore::ObjectStore& objects;  // of compacted objects
        meta::MetadataStore& metadata;
        rt::Offloader& offloader;
        TableFilesLoader& loader;
    };

    CompactedObjects(Seams seams, std::uint64_t bytes_max)
        : seams_(seams),
          bytes_max_(bytes_max),
          readers_(bytes_max / 4),
          rows_(bytes_max - bytes_max / 4) {}

    rt::Task<Result<std::vector<log::CompactedPart>>> read(
        LogId log,
        index::IndexRecord record,
        OffsetRange range,
        Offset from,
        std::uint64_t bytes_max,
        rt::TaskScope& ahead
    ) override;

    /// Bytes of all that was fetched and is kept or in use, and of what is being fetched.
    std::uint64_t bytes() const { return readers_.bytes() + rows_.bytes(); }
    void register_metrics(metrics::Registrations& out) const;

  private:
    /// An object's index and footer.
    struct Reader {
        Room room;
        std::unique_ptr<table::CompactedReader> reader;
    };
    /// One of its row groups; one read at a time while it is not ready.
    struct Rows {
        Room room;
        std::mutex mutex;
        std::unique_ptr<table::CompactedRows> rows;
    };
    using Readers = PieceCache<Reader>;
    using RowGroups = PieceCache<Rows>;
    using Entries = std::vector<table::CompactedEntry>;

    rt::Task<Result<std::string>> folder(LogId log);
    rt::Task<Result<std::uint64_t>> load_size(std::string name);
    rt::Task<Result<Bytes>> load_bytes(std::string name, objstore::ByteRange range);
    rt::Task<Result<Bytes>> load_tail(std::string name, std::uint64_t file_bytes, Room& room);
    rt::Task<Result<Readers::Ptr>> open_reader(std::string name);
    rt::Task<Result<RowGroups::Ptr>> open_rows(
        std::string name, Readers::Ptr reader, table::RowGroup group
    );
    rt::Task<Result<RowGroups::Ptr>> open_rows_into(
        Room room, std::string name, Readers::Ptr reader, table::RowGroup group
    );
    rt::Task<void> fetch_ahead(std::string name, Readers::Ptr reader, table::RowGroup group);
    rt::Task<Result<Entries>> read_rows(
        RowGroups::Key key,
        rt::Task<Result<RowGroups::Ptr>> open,
        Offset from,
        std::uint64_t bytes_max
    );
    rt::Task<Result<Entries>> read_object(
        std::string name, Offset from, std::uint64_t bytes_max, rt::TaskScope& ahead
    );

    Seams seams_;
    const std::uint64_t bytes_max_;
    Readers readers_;
    RowGroups rows_;
    std::mutex mutex_;
    std::map<LogId, std::string> folders_;
};

}  // namespace lakestream::compact
