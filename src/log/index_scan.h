// SPDX-License-Identifier: Apache-2.0
// IndexScan: the index records of one log, in order of offsets; and how single ones are got.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "index/key.h"
#include "meta/metadata_store.h"
#include "rt/task.h"

namespace lakestream::log {

/// None when there is no such record.
inline rt::Task<Result<std::optional<meta::Record>>> find_record(
    meta::MetadataStore& store, std::string key, std::optional<std::string> partition
) {
    auto record =
        co_await store.get({.key = std::move(key), .partition_key = std::move(partition)});
    if (record.is(ErrorCode::not_found)) {
        co_return std::nullopt;
    }
    co_return std::optional(LKS_CO_TRY(std::move(record)));
}

/// Records that end in (after, end], or to the log's end. Lives as long as one walk. Cost: 1 scan
/// of one metadata shard.
class IndexScan {
  public:
    IndexScan(meta::MetadataStore& store, LogId log, Offset after, std::optional<Offset> end)
        : scan_(store.scan({
              .begin = index::bound_after(log, after),
              .end = end.has_value() ? index::bound_after(log, *end) : index::bound_last(log),
              .partition_key = index::partition_key(log),
          })) {}

    /// The next page; empty at the end.
    rt::Task<Result<std::vector<meta::Record>>> next() { co_return co_await scan_->next(); }

  private:
    std::unique_ptr<meta::Scan> scan_;
};

}  // namespace lakestream::log
