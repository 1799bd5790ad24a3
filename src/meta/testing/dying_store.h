// SPDX-License-Identifier: Apache-2.0
// DyingStore: a node's way to the metadata store, which dies in the middle of something.
#pragma once

#include <utility>

#include "base/result.h"
#include "meta/testing/forwarding_store.h"

namespace lakestream::meta::testing {

/// Applies so many writes, then is gone: a crash between any two steps.
class DyingStore final : public ForwardingStore {
  public:
    DyingStore(MetadataStore& to, int writes) : ForwardingStore(to), writes_left_(writes) {}

    rt::Future<Result<ShardBatchDone>> write(ShardId shard, ShardBatch batch) override {
        if (writes_left_ == 0) {
            return rt::Future<Result<ShardBatchDone>>::ready(unavailable("crashed"));
        }
        --writes_left_;
        return ForwardingStore::write(shard, std::move(batch));
    }

  private:
    int writes_left_;
};

}  // namespace lakestream::meta::testing
