// SPDX-License-Identifier: Apache-2.0
// Many writes as few shard batches.
#pragma once

#include <vector>

#include "meta/metadata_store.h"
#include "rt/task.h"

namespace lakestream::catalog {

/// Puts, deletes and ranges that need no common fate. Each lives on the shard of its partition key
/// (its key, if none).
class Writes {
  public:
    void put(meta::Put put) { puts_.push_back(std::move(put)); }
    void remove(meta::Delete remove) {
        std::string partition_key = remove.key;
        remove_on(std::move(partition_key), std::move(remove));
    }
    void remove_on(std::string partition_key, meta::Delete remove) {
        deletes_.emplace_back(std::move(partition_key), std::move(remove));
    }
    void remove_range(meta::DeleteRange range, std::string partition_key) {
        ranges_.emplace_back(std::move(range), std::move(partition_key));
    }
    bool empty() const { return puts_.empty() && deletes_.empty() && ranges_.empty(); }

    /// Send all; results of the puts in their order. What a put or delete answers (`conflict`,
    /// `not_found`) is no error of the whole. Errors: of a batch; others may have been applied.
    /// Cost: one write request per shard and 2,000 writes.
    rt::Task<Result<std::vector<Result<meta::PutDone>>>> send(meta::MetadataStore& store) &&;

  private:
    std::vector<meta::Put> puts_;
    std::vector<std::pair<std::string, meta::Delete>> deletes_;  // by partition key
    std::vector<std::pair<meta::DeleteRange, std::string>> ranges_;
};

}  // namespace lakestream::catalog
