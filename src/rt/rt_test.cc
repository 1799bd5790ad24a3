// SPDX-License-Identifier: Apache-2.0
// Tasks, futures and waiting on both executors; the same seed gives the same trace.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "rt/channel.h"
#include "rt/epoll/threads.h"
#include "rt/memory.h"
#include "rt/offload.h"
#include "rt/sim/testing.h"

namespace lakestream::rt {
namespace {

Task<int> answer() {
    co_return 42;
}

Task<Result<int>> half(int n) {
    if (n % 2 != 0) {
        co_return invalid_argument("{} is odd", n);
    }
    co_return n / 2;
}

Task<Result<int>> quarter(int n) {
    const int once = LKS_CO_TRY(co_await half(n));
    co_return LKS_CO_TRY(co_await half(once));
}

TEST(Task, returns_values_and_errors) {
    SimTest sim;
    EXPECT_EQ(sim.run(answer()), 42);
    EXPECT_EQ(sim.run(quarter(8)).value(), 2);
    EXPECT_TRUE(sim.run(quarter(6)).is(ErrorCode::invalid_argument));
}

Task<int> count_up(int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += co_await answer() - 41;
    }
    co_return sum;
}

TEST(Task, a_million_awaits_do_not_grow_the_stack) {
    SimTest sim;
    EXPECT_EQ(sim.run(count_up(1'000'000)), 1'000'000);
}

Task<void> wait_and_note(Signal& signal, Deadline deadline, std::vector<std::string>& notes) {
    notes.emplace_back(co_await signal.wait(deadline) ? "notified" : "late");
}

TEST(Signal, wakes_all_or_ends_at_the_deadline) {
    SimTest sim;
    Signal signal;
    std::vector<std::string> notes;
    TaskScope scope(sim.executor);
    scope.spawn(wait_and_note(signal, sim.loop.now() + 5ms, notes));
    scope.spawn(wait_and_note(signal, no_deadline, notes));
    sim.loop.run_for(10ms);
    EXPECT_EQ(notes, std::vector<std::string>{"late"});
    signal.notify_all();
    sim.loop.run_for(0ms);
    EXPECT_EQ(notes, (std::vector<std::string>{"late", "notified"}));
    sim.run(scope.close());
}

Task<void> loop_until_stopped(TaskScope& scope, int& rounds) {
    Executor& executor = co_await this_executor();
    while (!co_await scope.stop().sleep_until(executor.now() + 1s)) {
        ++rounds;
    }
}

TEST(TaskScope, close_stops_loops_and_waits) {
    SimTest sim;
    TaskScope scope(sim.executor);
    int rounds = 0;
    scope.spawn(loop_until_stopped(scope, rounds));
    sim.loop.run_for(5500ms);
    EXPECT_EQ(rounds, 5);
    sim.run(scope.close());
    EXPECT_EQ(scope.size(), 0U);
}

TEST(TaskScope, abandon_destroys_frames_where_they_stand) {
    SimTest sim;
    TaskScope scope(sim.executor);
    int rounds = 0;
    scope.spawn(loop_until_stopped(scope, rounds));
    sim.loop.run_for(1500ms);
    sim.executor.kill();
    scope.abandon();
    EXPECT_EQ(scope.size(), 0U);
    sim.loop.run_for(10s);
    EXPECT_EQ(rounds, 1);
}

Task<void> produce(Channel<int>& channel, int count) {
    for (int i = 0; i < count; ++i) {
        EXPECT_TRUE(co_await channel.push(i));
        EXPECT_LE(channel.size(), 3U);
    }
    channel.close();
}

Task<int> consume(Channel<int>& channel) {
    int sum = 0;
    while (const auto value = co_await channel.pop()) {
        sum += *value;
    }
    co_return sum;
}

TEST(Channel, is_bounded_and_hands_out_the_rest_when_closed) {
    SimTest sim;
    Channel<int> channel(3);
    TaskScope scope(sim.executor);
    scope.spawn(produce(channel, 100));
    EXPECT_EQ(sim.run(consume(channel)), 4950);
    EXPECT_FALSE(channel.try_push(1));
    sim.run(scope.close());
}

TEST(Future, a_dropped_promise_is_cancelled) {
    SimTest sim;
    Promise<Result<int>> promise;
    auto future = promise.future();
    {
        const Promise<Result<int>> dropped = std::move(promise);
    }
    auto result = sim.run([](Future<Result<int>> f) -> Task<Result<int>> {
        co_return co_await std::move(f);
    }(std::move(future)));
    EXPECT_TRUE(result.is(ErrorCode::cancelled));
}

TEST(MemoryAccount, counts_upwards_and_refuses_at_any_limit) {
    MemoryAccount node("node", 100);
    MemoryAccount wal("wal", 80, &node);
    MemoryAccount tail("tail", 80, &node);
    auto first = wal.try_reserve(70);
    ASSERT_TRUE(first.has_value());
    EXPECT_FALSE(wal.try_reserve(11).has_value());
    EXPECT_FALSE(tail.try_reserve(31).has_value());
    EXPECT_TRUE(tail.try_reserve(30).has_value());
    EXPECT_EQ(node.used(), 70U);
    first->release();
    EXPECT_EQ(node.used(), 0U);
    EXPECT_EQ(wal.refused(), 1U);
    EXPECT_EQ(tail.refused(), 1U);
}

// A small world: workers on two executors that pass random numbers through channels and sleeps.
std::uint64_t trace_of(std::uint64_t seed) {
    SimLoop loop(seed);
    const SimClock clock(loop);
    SimExecutor a(loop, clock, seed + 1);
    SimExecutor b(loop, clock, seed + 2);
    std::uint64_t sum = 0;
    TaskScope scope_a(a);
    TaskScope scope_b(b);
    const auto worker = [](std::uint64_t& total) -> Task<void> {
        Executor& executor = co_await this_executor();
        for (int i = 0; i < 50; ++i) {
            total += executor.rng().below(1000);
            co_await sleep_until(executor.now() + Duration(executor.rng().below(1'000'000)));
        }
    };
    for (int i = 0; i < 5; ++i) {
        scope_a.spawn(worker(sum));
        scope_b.spawn(worker(sum));
    }
    loop.run_until([&] { return scope_a.size() == 0 && scope_b.size() == 0; });
    return loop.trace() ^ sum;
}

TEST(SimLoop, same_seed_same_trace) {
    EXPECT_EQ(trace_of(7), trace_of(7));
    EXPECT_EQ(trace_of(8), trace_of(8));
    EXPECT_NE(trace_of(7), trace_of(8));
}

TEST(SimLoop, a_timer_that_is_due_can_still_be_cancelled) {
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
        SimTest sim(seed);
        int fired = 0;
        TimerId second = TimerId::none;
        const MonoTime when = sim.loop.now() + 1s;
        sim.executor.call_at(when, [&] {
            ++fired;
            sim.executor.cancel(second);
        });
        second = sim.executor.call_at(when, [&] { ++fired; });
        sim.loop.run_for(2s);
        EXPECT_EQ(fired, 1);
    }
}

TEST(SimLoop, a_paused_executor_goes_on_later) {
    SimTest sim;
    int rounds = 0;
    TaskScope scope(sim.executor);
    scope.spawn(loop_until_stopped(scope, rounds));
    sim.executor.pause(sim.loop.now() + 10s);
    sim.loop.run_for(9s);
    EXPECT_EQ(rounds, 0);
    sim.loop.run_for(3500ms);
    EXPECT_GE(rounds, 2);
    sim.run(scope.close());
}

Task<int> hop_between(Executor& other, int rounds) {
    int sum = 0;
    Executor& home = co_await this_executor();
    for (int i = 0; i < rounds; ++i) {
        sum += co_await submit(other, answer()) - 41;
        EXPECT_TRUE(home.here());
    }
    co_return sum;
}

TEST(Loop, loops_exchange_messages) {
    const SystemClock clock;
    LoopThreads loops(clock, 2);
    std::atomic<int> done{0};
    for (int i = 0; i < 4; ++i) {
        loops[0].post([&] {
            static_cast<void>(submit(loops[0], [](Loop& to, std::atomic<int>& out) -> Task<bool> {
                out += co_await hop_between(to, 1000);
                co_return true;
            }(loops[1], done)));
        });
    }
    while (done.load() < 4000) {
        std::this_thread::yield();
    }
    EXPECT_EQ(done.load(), 4000);
}

TEST(Loop, timers_and_offloaded_work_come_back_to_the_loop) {
    const SystemClock clock;
    ThreadPool pool("test", 2, ThreadPriority::background);
    LoopThreads loops(clock, 1);
    std::atomic<int> result{0};
    static_cast<void>(submit(
        loops[0],
        [](Offloader& offloader, std::atomic<int>& out) -> Task<bool> {
            Executor& executor = co_await this_executor();
            const MonoTime begin = executor.now();
            co_await sleep_until(begin + 5ms);
            EXPECT_GE(executor.now() - begin, 5ms);
            const int value = co_await offload(offloader, [] { return 7; });
            EXPECT_TRUE(executor.here());
            out = value;
            co_return true;
        }(pool, result)
    ));
    while (result.load() == 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(result.load(), 7);
}

/// Rounds of 6 ms each; work is queued in the second and must not begin while they go on.
struct BusyLoop {
    Loop& loop;
    ThreadPool& pool;
    std::atomic<int> rounds{0};
    std::atomic<bool> begun{false};

    void round() {
        const MonoTime begin = loop.now();
        while (loop.now() - begin < 6ms) {
        }
        EXPECT_FALSE(begun.load()) << "in round " << rounds.load();
        if (++rounds == 2) {
            pool.run([this] { begun = true; });
        }
        if (rounds < 5) {
            loop.call_at(loop.now(), [this] { round(); });
        }
    }
};

TEST(ThreadPool, background_work_stands_back_while_a_loop_lags) {
    const SystemClock clock;
    LoopThreads loops(clock, 1);
    ThreadPool pool("test", 1, ThreadPriority::background, &loops);
    BusyLoop busy{.loop = loops[0], .pool = pool};
    loops[0].post([&] { busy.round(); });
    while (!busy.begun.load()) {
        std::this_thread::yield();
    }
    EXPECT_EQ(busy.rounds.load(), 5);
}

}  // namespace
}  // namespace lakestream::rt
