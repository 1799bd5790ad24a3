// SPDX-License-Identifier: Apache-2.0
// IcebergSink: tables as folders of Iceberg files, `<namespace>/<topic>` in one store.
#pragma once

#include <map>
#include <string>

#include "compact/table_sink.h"
#include "objstore/object_store.h"
#include "rt/offload.h"
#include "table/iceberg/file_table.h"

namespace lakestream::compact {

/// Where the table of a stream is: its folder in the store, and the same below `root`, the store's
/// location for other readers.
table::iceberg::FileTableOptions table_options(
    const catalog::StreamName& stream, std::string_view root
);

/// Used by one compactor, on its executor.
class IcebergSink final : public TableSink {
  public:
    struct Seams {
        objstore::ObjectStore& tables;
        rt::Offloader& offloader;
        std::string location;  // of the store's root for other readers: an absolute path or a URI
    };

    explicit IcebergSink(Seams seams) : seams_(std::move(seams)) {}

    rt::Task<Result<TablePositions>> open(catalog::StreamPtr stream) override;
    rt::Task<Result<TablePositions>> append(
        catalog::StreamPtr stream, table::DataFile file, std::map<LogId, OffsetRange> ranges
    ) override;

  private:
    table::iceberg::FileTable table_of(const catalog::StreamInfo& stream) const;
    rt::Task<Result<table::iceberg::TableFile>> store(
        const table::iceberg::FileTable& table, const table::DataFile& file
    );

    Seams seams_;
    std::map<catalog::StreamName, std::string> uuids_;  // of tables that were opened
};

}  // namespace lakestream::compact
