// SPDX-License-Identifier: Apache-2.0
// Stores that delay, fail, lose answers and apply late, for the log engine's own tests.
#pragma once

#include <utility>
#include <vector>

#include "meta/memory_store.h"
#include "objstore/memory_store.h"
#include "rt/scope.h"

namespace lakestream::log {

/// How often things go wrong, in a thousand.
struct Flakiness {
    std::uint64_t fail_before = 0;  // nothing was applied
    std::uint64_t lose_answer = 0;  // applied, answered outcome_unknown
    std::uint64_t apply_late = 0;   // answered outcome_unknown, applied seconds later
    Duration delay_max = Duration(0);
};

/// Index puts through a bad network: the shape of what a broken stream to a real server does.
class FlakyMetadata final : public meta::MetadataStore {
  public:
    FlakyMetadata(meta::MetadataStore& store, rt::Executor& executor, const Flakiness& how)
        : store_(store), executor_(executor), how_(how), scope_(executor) {}

    meta::KeyOrder key_order() const override { return store_.key_order(); }
    meta::ShardId shard_of(std::string_view key) const override { return store_.shard_of(key); }
    std::vector<meta::ShardId> shards() const override { return store_.shards(); }

    rt::Future<Result<meta::ShardBatchDone>> write(meta::ShardId shard, meta::ShardBatch batch)
        override {
        ++writes;
        return rt::submit(executor_, deliver(shard, std::move(batch)));
    }

    rt::Future<Result<meta::Record>> get(meta::Get request) override {
        return store_.get(std::move(request));
    }

    std::unique_ptr<meta::Scan> scan(meta::Range range) override {
        return store_.scan(std::move(range));
    }

    rt::Future<Result<std::vector<std::string>>> list(meta::Range range) override {
        return store_.list(std::move(range));
    }

    rt::Future<Result<meta::SessionId>> open_session(
        Duration timeout, std::string identity, std::move_only_function<void()> on_lost
    ) override {
        return store_.open_session(timeout, std::move(identity), std::move(on_lost));
    }

    rt::Future<Status> close_session(meta::SessionId session) override {
        return store_.close_session(session);
    }

    rt::Future<Result<std::unique_ptr<meta::Subscription>>> subscribe(
        rt::Executor& executor, meta::SubscribeHandler handler
    ) override {
        return store_.subscribe(executor, std::move(handler));
    }

    rt::TaskScope& scope() { return scope_; }

    std::uint64_t writes = 0;

  private:
    rt::Task<Result<meta::ShardBatchDone>> deliver(meta::ShardId shard, meta::ShardBatch batch) {
        rt::Rng& rng = executor_.rng();
        co_await rt::sleep_until(executor_.now() + delay());
        if (rng.chance(how_.fail_before, 1000)) {
            co_return unavailable("no connection");
        }
        if (rng.chance(how_.apply_late, 1000)) {
            scope_.spawn(apply_late(shard, std::move(batch)));
            co_return outcome_unknown("the stream broke");
        }
        auto done = co_await store_.write(shard, std::move(batch));
        co_await rt::sleep_until(executor_.now() + delay());
        if (rng.chance(how_.lose_answer, 1000)) {
            co_return outcome_unknown("the answer was lost");
        }
        co_return done;
    }

    rt::Task<void> apply_late(meta::ShardId shard, meta::ShardBatch batch) {
        const auto wait = std::chrono::milliseconds(executor_.rng().below(5000));
        co_await rt::sleep_until(executor_.now() + wait);
        static_cast<void>(co_await store_.write(shard, std::move(batch)));
    }

    Duration delay() {
        return Duration(static_cast<std::int64_t>(
            executor_.rng().below(static_cast<std::uint64_t>(how_.delay_max.count()) + 1)
        ));
    }

    meta::MetadataStore& store_;
    rt::Executor& executor_;  // outside the node: a late write survives its crash
    const Flakiness& how_;
    rt::TaskScope scope_;
};

/// Puts and gets that fail or lose their answers.
class FlakyObjects final : public objstore::ObjectStore {
  public:
    FlakyObjects(objstore::ObjectStore& store, const Flakiness& how) : store_(store), how_(how) {}

    rt::Task<Status> put(std::string name, Slices body, objstore::IfExists if_exists) override {
        rt::Executor& executor = co_await rt::this_executor();
        ++puts;
        co_await rt::sleep_until(executor.now() + delay(executor));
        if (failing.has_value()) {
            co_return *failing;
        }
        if (executor.rng().chance(how_.fail_before, 1000)) {
            co_return unavailable("the store is away");
        }
        Status stored = co_await store_.put(std::move(name), std::move(body), if_exists);
        if (executor.rng().chance(how_.lose_answer, 1000)) {
            co_return outcome_unknown("the answer was lost");
        }
        co_return stored;
    }

    rt::Task<Result<Bytes>> get(std::string name, std::optional<objstore::ByteRange> range)
        override {
        rt::Executor& executor = co_await rt::this_executor();
        ++gets;
        co_await rt::sleep_until(executor.now() + delay(executor));
        co_return co_await store_.get(std::move(name), range);
    }

    rt::Task<Result<objstore::ObjectInfo>> head(std::string name) override {
        co_return co_await store_.head(std::move(name));
    }

    rt::Task<Result<objstore::ListPage>> list(
        std::string prefix, std::string after, std::uint32_t limit
    ) override {
        co_return co_await store_.list(std::move(prefix), std::move(after), limit);
    }

    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override {
        co_return co_await store_.remove(std::move(names));
    }

    std::uint64_t puts = 0;
    std::uint64_t gets = 0;
    std::optional<Error> failing;  // every put answers this

  private:
    Duration delay(rt::Executor& executor) {
        return Duration(static_cast<std::int64_t>(
            executor.rng().below(static_cast<std::uint64_t>(how_.delay_max.count()) + 1)
        ));
    }

    objstore::ObjectStore& store_;
    const Flakiness& how_;
};

}  // namespace lakestream::log
