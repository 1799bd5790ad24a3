// SPDX-License-Identifier: Apache-2.0
// Both semaphores: in order, oversized ones alone; between executors none lost with who waited.
#include "rt/semaphore.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "rt/epoll/threads.h"
#include "rt/shared_semaphore.h"
#include "rt/sim/testing.h"

namespace lakestream::rt {
namespace {

template <class AnySemaphore>
Task<void> take_units(
    AnySemaphore& semaphore, std::uint64_t count, std::vector<std::uint64_t>& order
) {
    Executor& executor = co_await this_executor();
    const auto units = co_await semaphore.acquire(count);
    order.push_back(count);
    co_await sleep_until(executor.now() + 1ms);
}

template <class AnySemaphore>
void expect_grants_in_order_and_oversized_requests_alone() {
    SimTest sim;
    AnySemaphore semaphore(10);
    std::vector<std::uint64_t> order;
    TaskScope scope(sim.executor);
    for (const std::uint64_t count : {6U, 5U, 4U, 100U, 1U}) {
        scope.spawn(take_units(semaphore, count, order));
    }
    sim.loop.run_for(100ms);
    EXPECT_EQ(order, (std::vector<std::uint64_t>{6, 5, 4, 100, 1}));
    EXPECT_EQ(semaphore.used(), 0U);
    sim.run(scope.close());
}

TEST(Semaphore, grants_in_order_and_oversized_requests_alone) {
    expect_grants_in_order_and_oversized_requests_alone<Semaphore>();
}

TEST(SharedSemaphore, grants_in_order_and_oversized_requests_alone) {
    expect_grants_in_order_and_oversized_requests_alone<SharedSemaphore>();
}

TEST(SharedSemaphore, what_a_waiter_that_is_gone_is_granted_comes_back) {
    SimTest sim;
    SharedSemaphore semaphore(10);
    std::vector<std::uint64_t> order;
    SimExecutor killed(sim.loop, sim.clock, 2);
    TaskScope gone(killed);
    TaskScope stays(sim.executor);
    {
        const auto held = sim.run([](SharedSemaphore& from) -> Task<SharedSemaphore::Units> {
            co_return co_await from.acquire(7);
        }(semaphore));
        for (const std::uint64_t count : {9U, 8U}) {
            gone.spawn(take_units(semaphore, count, order));
        }
        sim.loop.run_for(1ms);
        stays.spawn(take_units(semaphore, 10, order));
        sim.loop.run_for(1ms);
        EXPECT_EQ(semaphore.waiting(), 3U);
        killed.kill();
        gone.abandon();
        EXPECT_EQ(semaphore.used(), 7U);
    }
    sim.run(stays.close());
    EXPECT_EQ(order, std::vector<std::uint64_t>{10});
    EXPECT_EQ(semaphore.used(), 0U);
    EXPECT_EQ(semaphore.waiting(), 0U);
}

Task<bool> take_often(
    SharedSemaphore& semaphore, std::atomic<std::uint64_t>& held, std::atomic<int>& ended
) {
    for (std::uint64_t i = 0; i < 2000; ++i) {
        const std::uint64_t count = i % 7 + 1;
        const auto units = co_await semaphore.acquire(count);
        EXPECT_LE(held += count, 10U);
        co_await yield();
        held -= count;
    }
    ++ended;
    co_return true;
}

TEST(SharedSemaphore, is_one_for_all_loops) {
    const SystemClock clock;
    SharedSemaphore semaphore(10);
    std::atomic<std::uint64_t> held = 0;
    std::atomic<int> ended = 0;
    {
        LoopThreads loops(clock, 2);
        for (const std::size_t loop : {0U, 0U, 0U, 1U, 1U, 1U}) {
            static_cast<void>(submit(loops[loop], take_often(semaphore, held, ended)));
        }
        while (ended.load() < 6) {
            std::this_thread::yield();
        }
    }
    EXPECT_EQ(semaphore.used(), 0U);
}

}  // namespace
}  // namespace lakestream::rt
