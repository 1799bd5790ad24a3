// SPDX-License-Identifier: Apache-2.0
// LogRows: what logs hold, as rows of their table would.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"
#include "compact/compacted_objects.h"
#include "log/node_engine.h"
#include "server/leaves.h"
#include "table/files.h"

namespace lakestream::cli {

/// The topic `<namespace>/<topic>`. Errors: `not_found`, those of the store.
Result<catalog::StreamPtr> load_stream(server::Leaves& leaves, std::string_view folder);

/// Reads logs through an engine of its own, which writes nothing. Blocking calls, from the
/// command's own thread. Memory: a few MiB, and one row group of a compacted
/// object.
class LogRows {
  public:
    /// Both outlive this.
    LogRows(server::Leaves& leaves, compact::TableFilesLoader& loader);
    LogRows(const LogRows&) = delete;
    LogRows& operator=(const LogRows&) = delete;
    ~LogRows();

    Result<log::LogBounds> bounds(LogId log);

    struct Partition {
        LogId log;
        std::int32_t number = 0;
    };
    /// Call `row` for each row in `range`, in order of offsets; null timestamps, header keys and so
    /// on as the table stores them. Errors: `corrupt`, naming the object; the rows before it were
    /// given, and `reached` is where it stopped.
    Status read(
        Partition partition,
        OffsetRange range,
        const std::function<void(const table::Row&)>& row,
        Offset& reached
    );

    /// Records read so far that are in no table, because their batch does not decode.
    std::int64_t unreadable() const noexcept { return unreadable_; }

  private:
    rt::Executor& executor_;
    std::int64_t unreadable_ = 0;
    compact::CompactedObjects compacted_;
    std::unique_ptr<log::NodeEngine> engine_;
};

}  // namespace lakestream::cli
