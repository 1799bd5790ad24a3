// SPDX-License-Identifier: Apache-2.0
// IndexScan: the index records of one log, in order of offsets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "index/key.h"
#include "meta/metadata_store.h"
#include "rt/task.h"

namespace lakestream::log {

/// Records that end in (after, end], or to the log's end. Lives as long as one walk. Cost: 1 scan
/// of one metadata shard.
class IndexScan {
  public:
    IndexScan(meta::MetadataStore& store, LogId log, Offset after, std::optional<Offset> end)
        : scan_(store.scan({
              .begin = index::bound_after(log, after),
              .end = end.has_value() ? index::bound_after(log, *end) : index::bound_last(log),
              .partition_key = std::to_string(log.v),
          })) {}

    /// The next page; empty at the end.
    rt::Task<Result<std::vector<meta::Record>>> next() { co_return co_await scan_->next(); }

  private:
    std::unique_ptr<meta::Scan> scan_;
};

}  // namespace lakestream::log
