// SPDX-License-Identifier: Apache-2.0
// ProducerIds: ids for idempotent producers, taken from the catalog a block at a time.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "catalog/catalog.h"
#include "rt/task.h"

namespace lakestream::kafka {

/// One executor's ids. What is left of a block when the process ends is never given out.
class ProducerIds {
  public:
    ProducerIds(catalog::Catalog& catalog, std::int64_t block) : catalog_(catalog), block_(block) {}

    /// An id never given before. Cost: one catalog write per block.
    rt::Task<Result<std::int64_t>> next() {
        while (next_ == end_) {
            const std::int64_t first = LKS_CO_TRY(co_await catalog_.allocate_producer_ids(block_));
            if (next_ == end_) {  // else another request was faster; this block is left out
                next_ = first;
                end_ = first + block_;
            }
        }
        co_return next_++;
    }

  private:
    catalog::Catalog& catalog_;
    std::int64_t block_;
    std::int64_t next_ = 0;
    std::int64_t end_ = 0;
};

}  // namespace lakestream::kafka
