// SPDX-License-Identifier: Apache-2.0
// ForwardingStore: passes everything on. Test doubles derive from it and change a part.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "meta/metadata_store.h"

namespace lakestream::meta::testing {

class ForwardingStore : public MetadataStore {
  public:
    /// `to` is used from the first call on, and outlives this.
    explicit ForwardingStore(MetadataStore& to) : to_(to) {}

    KeyOrder key_order() const override { return to_.key_order(); }
    ShardId shard_of(std::string_view key) const override { return to_.shard_of(key); }
    std::vector<ShardId> shards() const override { return to_.shards(); }
    rt::Future<Result<ShardBatchDone>> write(ShardId shard, ShardBatch batch) override {
        return to_.write(shard, std::move(batch));
    }
    rt::Future<Result<Record>> get(Get request) override { return to_.get(std::move(request)); }
    std::unique_ptr<Scan> scan(Range range) override { return to_.scan(std::move(range)); }
    rt::Future<Result<std::vector<std::string>>> list(Range range) override {
        return to_.list(std::move(range));
    }
    rt::Future<Result<SessionId>> open_session(
        Duration timeout, std::string identity, std::move_only_function<void()> on_lost
    ) override {
        return to_.open_session(timeout, std::move(identity), std::move(on_lost));
    }
    rt::Future<Status> close_session(SessionId session) override {
        return to_.close_session(session);
    }
    rt::Future<Result<std::unique_ptr<Subscription>>> subscribe(
        rt::Executor& executor, SubscribeHandler handler
    ) override {
        return to_.subscribe(executor, std::move(handler));
    }

  private:
    MetadataStore& to_;
};

}  // namespace lakestream::meta::testing
