// SPDX-License-Identifier: Apache-2.0
// What each decorator adds: when it asks again, waits, counts, keeps, or does harm.
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "objstore/budget_store.h"
#include "objstore/cache_store.h"
#include "objstore/memory_store.h"
#include "objstore/metrics_store.h"
#include "objstore/retry_store.h"
#include "objstore/testing/faulty_store.h"
#include "rt/sim/testing.h"

namespace lakestream::objstore {
namespace {

Slices bytes_of(std::string_view text) {
    return Slices(Bytes::copy(text));
}

/// Answers puts and removes from a script, then from the store below; counts what reaches it.
class Scripted final : public ObjectStore {
  public:
    explicit Scripted(ObjectStore& inner) : inner_(inner) {}

    rt::Task<Status> put(std::string name, Slices body, IfExists if_exists) override {
        ++calls;
        if (!script.empty()) {
            Status next = std::move(script.front());
            script.pop_front();
            co_return next;
        }
        co_return co_await inner_.put(std::move(name), std::move(body), if_exists);
    }
    rt::Task<Result<Bytes>> get(std::string name, std::optional<ByteRange> range) override {
        ++calls;
        ++running;
        running_most = std::max(running_most, running);
        const rt::Executor& executor = co_await rt::this_executor();
        co_await rt::sleep_until(executor.now() + 10ms);
        --running;
        co_return co_await inner_.get(std::move(name), range);
    }
    rt::Task<Result<ObjectInfo>> head(std::string name) override {
        ++calls;
        co_return co_await inner_.head(std::move(name));
    }
    rt::Task<Result<ListPage>> list(std::string prefix, std::string after, std::uint32_t limit)
        override {
        co_return co_await inner_.list(std::move(prefix), std::move(after), limit);
    }
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override {
        removes.push_back(names);
        std::vector<Status> results(names.size());
        for (Status& result : results) {
            if (!script.empty()) {
                result = std::move(script.front());
                script.pop_front();
            }
        }
        co_return results;
    }

    std::deque<Status> script;
    std::vector<std::vector<std::string>> removes;
    int calls = 0;
    int running = 0;
    int running_most = 0;

  private:
    ObjectStore& inner_;
};

struct Bench {
    rt::SimTest sim;
    MemoryBucket bucket{sim.clock};
    MemoryStore memory{bucket};
    Scripted scripted{memory};
};

class Retry : public testing::Test, protected Bench {
  protected:
    Status put(IfExists if_exists) { return sim.run(store.put("x", bytes_of("hello"), if_exists)); }

    RetryStore store{scripted, {.patience = 10s, .attempts_max = 4}};
};

TEST_F(Retry, AsksAgainWhenNothingWasApplied) {
    scripted.script = {unavailable("a"), deadline_exceeded("b"), throttled("c")};
    EXPECT_TRUE(put(IfExists::fail).ok());
    EXPECT_EQ(scripted.calls, 4);
}

TEST_F(Retry, GivesUpAfterSomeAttempts) {
    scripted.script = {unavailable("1"), unavailable("2"), unavailable("3"), unavailable("4")};
    EXPECT_EQ(put(IfExists::fail).error().message, "4");
    EXPECT_EQ(scripted.calls, 4);
}

TEST_F(Retry, WaitsAsLongAsItIsTold) {
    Error slow_down = throttled("slow down");
    slow_down.retry_after = 3s;
    scripted.script = {slow_down};
    const MonoTime begin = sim.loop.now();
    EXPECT_TRUE(put(IfExists::fail).ok());
    EXPECT_GE(sim.loop.now() - begin, 3s);
    slow_down.retry_after = 11s;  // more than there is patience
    scripted.script = {slow_down};
    EXPECT_TRUE(put(IfExists::overwrite).is(ErrorCode::throttled));
}

TEST_F(Retry, BacksOffInLargerSteps) {
    scripted.script = {unavailable("1"), unavailable("2"), unavailable("3")};
    const MonoTime begin = sim.loop.now();
    EXPECT_TRUE(put(IfExists::fail).ok());
    const Duration waited = sim.loop.now() - begin;
    EXPECT_GT(waited, 25ms + 50ms + 100ms);
    EXPECT_LE(waited, 50ms + 100ms + 200ms);
}

TEST_F(Retry, AnswersAreNotRepeated) {
    for (const Error& answer : {exhausted("full"), unsupported("read-only"), already_exists("x")}) {
        scripted.calls = 0;
        scripted.script = {answer};
        EXPECT_TRUE(put(IfExists::fail).is(answer.code));
        EXPECT_EQ(scripted.calls, 1);
    }
}

TEST_F(Retry, AnUnknownOutcomeIsTheCallersWhenItMayNotOverwrite) {
    scripted.script = {outcome_unknown("lost")};
    EXPECT_TRUE(put(IfExists::fail).is(ErrorCode::outcome_unknown));
    EXPECT_EQ(scripted.calls, 1);
    scripted.script = {outcome_unknown("lost")};
    EXPECT_TRUE(put(IfExists::overwrite).ok());
}

TEST_F(Retry, OnceUnknownNoRefusalMeansNotApplied) {
    for (const Error& later : {exhausted("full"), unsupported("read-only")}) {
        scripted.script = {outcome_unknown("lost"), unavailable("x"), later};
        EXPECT_TRUE(put(IfExists::overwrite).is(ErrorCode::outcome_unknown));
    }
    scripted.script = {
        outcome_unknown("lost"), unavailable("1"), unavailable("2"), unavailable("3")
    };
    EXPECT_TRUE(put(IfExists::overwrite).is(ErrorCode::outcome_unknown));
}

TEST_F(Retry, RemovesTheRestAgain) {
    scripted.script = {Status(), unavailable("b"), unsupported("c"), outcome_unknown("d")};
    std::vector<std::string> names{"a", "b", "c", "d"};
    const auto results = sim.run(store.remove(names));
    EXPECT_TRUE(results[0].ok() && results[1].ok() && results[3].ok());
    EXPECT_TRUE(results[2].is(ErrorCode::unsupported));
    EXPECT_EQ(scripted.removes, (std::vector<std::vector<std::string>>{names, {"b", "d"}}));
}

/// Start all, wait for all.
template <class T>
std::vector<T> together(rt::SimTest& sim, std::vector<rt::Task<T>> tasks) {
    std::vector<std::optional<T>> results(tasks.size());
    std::size_t left = tasks.size();
    rt::TaskScope scope(sim.executor);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        scope.spawn(
            [](rt::Task<T> task, std::optional<T>& result, std::size_t& count) -> rt::Task<void> {
                result.emplace(co_await std::move(task));
                --count;
            }(std::move(tasks[i]), results[i], left)
        );
    }
    EXPECT_TRUE(sim.loop.run_until([&] { return left == 0; }));
    sim.run(scope.close());
    std::vector<T> all;
    for (std::optional<T>& result : results) {
        all.push_back(std::move(*result));
    }
    return all;
}

std::vector<rt::Task<Result<Bytes>>> gets(ObjectStore& store, int count) {
    std::vector<rt::Task<Result<Bytes>>> tasks;
    for (int i = 0; i < count; ++i) {
        tasks.push_back(store.get("x", std::nullopt));
    }
    return tasks;
}

class Budget : public testing::Test, protected Bench {
  protected:
    Budget() { EXPECT_TRUE(bucket.put("x", bytes_of("hello"), IfExists::fail).ok()); }
};

TEST_F(Budget, TokensComeAtTheRateAfterTheBurst) {
    BudgetOptions options;
    options.rates[Operation::get] = {.per_second = 10, .burst = 5};
    BudgetStore store(scripted, options);
    const MonoTime begin = sim.loop.now();
    for (const auto& result : together(sim, gets(store, 25))) {
        EXPECT_TRUE(result.ok());
    }
    // 5 at once, 20 at 10 per second, and the last one's own 10 ms.
    EXPECT_GE(sim.loop.now() - begin, 2s);
    EXPECT_LE(sim.loop.now() - begin, 2s + 20ms);
    // Other kinds are not concerned.
    const MonoTime then = sim.loop.now();
    EXPECT_TRUE(sim.run(store.head("x")).ok());
    EXPECT_EQ(sim.loop.now(), then);
}

TEST_F(Budget, WhatWouldWaitTooLongIsThrottled) {
    BudgetOptions options{.wait_max = 1s};
    options.rates[Operation::get] = {.per_second = 1, .burst = 1};
    BudgetStore store(scripted, options);
    int ok = 0;
    for (const auto& result : together(sim, gets(store, 5))) {
        ok += result.ok() ? 1 : 0;
        if (!result.ok()) {
            EXPECT_TRUE(result.is(ErrorCode::throttled));
            EXPECT_EQ(result.error().retry_after, 2s);
        }
    }
    EXPECT_EQ(ok, 2);
    EXPECT_EQ(scripted.calls, 2);
}

TEST_F(Budget, SoManyAtOnceTheRestInLine) {
    BudgetStore store(scripted, {.concurrent_max = 3, .waiting_max = 4});
    int throttled_count = 0;
    for (const auto& result : together(sim, gets(store, 10))) {
        throttled_count += result.is(ErrorCode::throttled) ? 1 : 0;
    }
    EXPECT_EQ(throttled_count, 3);
    EXPECT_EQ(scripted.running_most, 3);
    EXPECT_EQ(store.running() + store.waiting(), 0U);
}

TEST(Metrics, CountsByKindAndOutcome) {
    Bench bench;
    metrics::Registry registry;
    {
        MetricsStore store(bench.scripted, registry, "wal");
        EXPECT_TRUE(bench.sim.run(store.put("x", bytes_of("hello"), IfExists::fail)).ok());
        EXPECT_TRUE(bench.sim.run(store.get("x", ByteRange{0, 3})).ok());
        EXPECT_FALSE(bench.sim.run(store.get("none", std::nullopt)).ok());
        bench.scripted.script = {
            outcome_unknown("a"), throttled("b"), exhausted("c"), Status(), unavailable("d")
        };
        for (int i = 0; i < 3; ++i) {
            EXPECT_FALSE(bench.sim.run(store.put("y", bytes_of("lost"), IfExists::fail)).ok());
        }
        std::vector<std::string> names{"a", "b"};
        static_cast<void>(bench.sim.run(store.remove(names)));
        EXPECT_EQ(store.requests(Operation::put, Outcome::ok), 1U);
        EXPECT_EQ(store.requests(Operation::put, Outcome::unknown), 1U);
        EXPECT_EQ(store.requests(Operation::put, Outcome::throttled), 1U);
        EXPECT_EQ(store.requests(Operation::put, Outcome::failed), 1U);
        EXPECT_EQ(store.requests(Operation::get, Outcome::ok), 1U);
        EXPECT_EQ(store.requests(Operation::get, Outcome::answer), 1U);
        EXPECT_EQ(store.requests(Operation::remove, Outcome::failed), 1U);
        EXPECT_EQ(store.written_bytes(), 5U);
        EXPECT_EQ(store.read_bytes(), 3U);
        std::set<std::string> lines;
        for (const metrics::Entry& entry : registry.entries()) {
            std::string line = entry.name;
            for (const auto& [key, value] : entry.labels) {
                line += fmt::format(" {}={}", key, value);
            }
            EXPECT_TRUE(lines.insert(line).second) << line;
            if (line == "lakestream_objstore_request_seconds store=wal operation=get") {
                const auto& histogram = *static_cast<const metrics::Histogram*>(entry.metric);
                EXPECT_EQ(histogram.sum(), 0.02);
            }
        }
        EXPECT_TRUE(lines.contains(
            "lakestream_objstore_requests_total store=wal operation=put outcome=unknown"
        ));
        EXPECT_TRUE(lines.contains("lakestream_objstore_read_bytes_total store=wal"));
    }
    EXPECT_TRUE(registry.entries().empty());
}

class Cache : public testing::Test, protected Bench {
  protected:
    Cache() {
        for (const char* name : {"x", "y", "z"}) {
            EXPECT_TRUE(bucket.put(name, bytes_of(std::string(100, *name)), IfExists::fail).ok());
        }
    }

    bool get(std::string name, std::optional<ByteRange> range = {}) {
        return sim.run(store.get(std::move(name), range)).ok();
    }

    rt::MemoryAccount account{"cache", 250};
    CacheStore store{scripted, account};
};

TEST_F(Cache, OneFetchForAllWhoAskAtOnce) {
    for (const auto& result : together(sim, gets(store, 50))) {
        EXPECT_EQ(result->size(), 100U);
    }
    EXPECT_EQ(scripted.calls, 1);
    EXPECT_EQ(store.joins(), 49U);
}

TEST_F(Cache, FailuresReachAllWaitersAndAreNotKept) {
    EXPECT_TRUE(bucket.remove("x").ok());
    for (const auto& result : together(sim, gets(store, 3))) {
        EXPECT_TRUE(result.is(ErrorCode::not_found));
    }
    EXPECT_FALSE(get("x"));
    EXPECT_EQ(scripted.calls, 2);
}

TEST_F(Cache, RunsAnswerTheRangesInsideThem) {
    EXPECT_TRUE(get("x", ByteRange{10, 50}));
    EXPECT_TRUE(get("x", ByteRange{20, 50}));
    EXPECT_TRUE(get("x", ByteRange{10, 10}));
    EXPECT_EQ(scripted.calls, 1);
    EXPECT_TRUE(get("x", ByteRange{10, 51}));
    EXPECT_TRUE(get("x", ByteRange{5, 6}));
    EXPECT_EQ(scripted.calls, 3);
    EXPECT_EQ(account.used(), 42U);  // [10, 51) took the place of [10, 50)
    EXPECT_TRUE(get("x"));
    EXPECT_EQ(account.used(), 100U);
    EXPECT_TRUE(get("x", ByteRange{0, 100}));
    EXPECT_TRUE(get("x"));
    EXPECT_FALSE(get("x", ByteRange{0, 101}));
    EXPECT_EQ(scripted.calls, 5);
}

TEST_F(Cache, TheLongestUnusedLeavesFirst) {
    EXPECT_TRUE(get("x") && get("y") && get("x") && get("z"));
    EXPECT_EQ(scripted.calls, 3);
    EXPECT_EQ(account.used(), 200U);
    EXPECT_TRUE(get("x"));
    EXPECT_EQ(scripted.calls, 3);
    EXPECT_TRUE(get("y"));
    EXPECT_EQ(scripted.calls, 4);
}

TEST_F(Cache, WhatIsTooLargeIsPassedThrough) {
    EXPECT_TRUE(bucket.put("large", bytes_of(std::string(251, 'l')), IfExists::fail).ok());
    EXPECT_TRUE(get("x") && get("large") && get("large") && get("x"));
    EXPECT_EQ(scripted.calls, 3);
}

TEST_F(Cache, AGetAfterAPutDoesNotJoinAnOlderFetch) {
    EXPECT_TRUE(bucket.remove("x").ok());
    auto older = rt::submit(sim.executor, store.get("x", std::nullopt));
    ASSERT_TRUE(sim.loop.run_until([&] { return scripted.calls == 1; }));
    EXPECT_TRUE(sim.run(store.put("x", bytes_of("new"), IfExists::fail)).ok());
    EXPECT_TRUE(get("x"));
    EXPECT_EQ(store.joins(), 0U);
}

TEST(Memory, ABucketOutlivesItsNodes) {
    rt::SimLoop loop(1);
    const rt::SimClock clock(loop);
    MemoryBucket bucket(clock);
    rt::SimExecutor world(loop, clock, 1);
    auto node = std::make_unique<rt::SimExecutor>(loop, clock, 2);
    MemoryStore store(bucket);
    rt::TaskScope scope(*node);
    scope.spawn([](MemoryStore& objects) -> rt::Task<void> {
        for (int i = 0;; ++i) {
            static_cast<void>(
                co_await objects.put(fmt::format("{:04}", i), bytes_of("x"), IfExists::fail)
            );
        }
    }(store));
    loop.run_until([&] { return bucket.size() == 10; });
    node->kill();
    scope.abandon();
    loop.run_for(1s);
    EXPECT_EQ(bucket.size(), 10U);
    EXPECT_EQ(bucket.bytes(), 10U);
}

}  // namespace
}  // namespace lakestream::objstore
