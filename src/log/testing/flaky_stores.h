// SPDX-License-Identifier: Apache-2.0
// Stores that delay, fail, lose answers and apply late, for the log engine's own tests.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "meta/memory_store.h"
#include "meta/testing/forwarding_store.h"
#include "objstore/memory_store.h"
#include "objstore/testing/forwarding_store.h"
#include "rt/scope.h"

namespace lakestream::log {

/// How often things go wrong, in a thousand.
struct Flakiness {
    std::uint64_t fail_before = 0;  // nothing was applied
    std::uint64_t lose_answer = 0;  // applied, answered outcome_unknown
    std::uint64_t apply_late = 0;   // answered outcome_unknown, applied seconds later
    Duration delay_max = Duration(0);
    Duration put_time = Duration(0);  // every put of an object takes so long, and its delay
};

/// Index puts through a bad network: the shape of what a broken stream to a real server does.
class FlakyMetadata final : public meta::testing::ForwardingStore {
  public:
    FlakyMetadata(meta::MetadataStore& store, rt::Executor& executor, const Flakiness& how)
        : ForwardingStore(store), executor_(executor), how_(how), scope_(executor) {}

    rt::Future<Result<meta::ShardBatchDone>> write(meta::ShardId shard, meta::ShardBatch batch)
        override {
        ++writes;
        if (refusing.has_value()) {
            return rt::submit(executor_, refuse(*refusing));
        }
        if (failing_puts.has_value()) {
            return rt::submit(executor_, fail_puts(*failing_puts, batch.puts.size()));
        }
        return rt::submit(executor_, deliver(shard, std::move(batch)));
    }

    rt::TaskScope& scope() { return scope_; }

    std::uint64_t writes = 0;
    std::optional<Error> refusing;      // every write answers this, and nothing is applied
    std::optional<Error> failing_puts;  // or each of its puts does

  private:
    static rt::Task<Result<meta::ShardBatchDone>> refuse(Error error) { co_return error; }
    static rt::Task<Result<meta::ShardBatchDone>> fail_puts(Error error, std::size_t puts) {
        meta::ShardBatchDone done;
        done.puts.assign(puts, error);
        co_return done;
    }

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
        auto done = co_await ForwardingStore::write(shard, std::move(batch));
        co_await rt::sleep_until(executor_.now() + delay());
        if (rng.chance(how_.lose_answer, 1000)) {
            co_return outcome_unknown("the answer was lost");
        }
        co_return done;
    }

    rt::Task<void> apply_late(meta::ShardId shard, meta::ShardBatch batch) {
        const auto wait = std::chrono::milliseconds(executor_.rng().below(5000));
        co_await rt::sleep_until(executor_.now() + wait);
        static_cast<void>(co_await ForwardingStore::write(shard, std::move(batch)));
    }

    Duration delay() {
        return Duration(static_cast<std::int64_t>(
            executor_.rng().below(static_cast<std::uint64_t>(how_.delay_max.count()) + 1)
        ));
    }

    rt::Executor& executor_;  // outside the node: a late write survives its crash
    const Flakiness& how_;
    rt::TaskScope scope_;
};

/// Puts and gets that fail or lose their answers.
class FlakyObjects final : public objstore::ForwardingStore {
  public:
    FlakyObjects(objstore::ObjectStore& store, const Flakiness& how)
        : ForwardingStore(store), how_(how) {}

    rt::Task<Status> put(std::string name, Slices body, objstore::IfExists if_exists) override {
        rt::Executor& executor = co_await rt::this_executor();
        ++puts;
        co_await rt::sleep_until(executor.now() + how_.put_time + delay(executor));
        if (failing.has_value()) {
            co_return *failing;
        }
        if (executor.rng().chance(how_.fail_before, 1000)) {
            co_return unavailable("the store is away");
        }
        Status stored = co_await ForwardingStore::put(std::move(name), std::move(body), if_exists);
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
        co_return co_await ForwardingStore::get(std::move(name), range);
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

    const Flakiness& how_;
};

}  // namespace lakestream::log
