// SPDX-License-Identifier: Apache-2.0
// RequestMemory: who waits for whom, and that nobody waits for ever.
#include "kafka/request_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "rt/scope.h"
#include "rt/sim/testing.h"

namespace lakestream::kafka {
namespace {

constexpr std::uint64_t limit = 8000;  // and 1000 for small requests

struct World {
    rt::SimTest sim{1};
    metrics::Counter waited;
    metrics::Gauge held;
    RequestMemory memory{limit, waited, held};
    rt::TaskScope scope{sim.executor};

    ~World() { sim.run(scope.close()); }
};

/// One request: grows when told.
struct Holder {
    Holder(World& in, RequestSize size) : world(in) { units.emplace(in.memory, size); }

    /// Whether it got that much at once.
    bool grow(std::uint64_t count) {
        world.scope.spawn(wait(count));
        world.sim.loop.run_for(1ms);
        return got == count;
    }
    void drop() {
        units.reset();
        world.sim.loop.run_for(1ms);
    }

    World& world;
    std::optional<RequestMemory::Units> units;
    std::uint64_t got = 0;

  private:
    rt::Task<void> wait(std::uint64_t count) {
        co_await world.memory.grow(*units, count);
        got = count;
    }
};

TEST(RequestMemory, small_requests_do_not_wait_for_large_ones) {
    World world;
    Holder a(world, RequestSize::large);
    Holder b(world, RequestSize::large);
    EXPECT_TRUE(a.grow(8500));
    EXPECT_FALSE(b.grow(1000));
    EXPECT_TRUE(world.memory.contended());
    Holder c(world, RequestSize::small);
    Holder d(world, RequestSize::small);
    EXPECT_TRUE(c.grow(900));
    EXPECT_FALSE(d.grow(200));
    c.drop();
    EXPECT_EQ(d.got, 200);
    EXPECT_EQ(b.got, 0);
    a.drop();
    EXPECT_EQ(b.got, 1000);
    EXPECT_FALSE(world.memory.contended());
    EXPECT_EQ(world.held.value(), 1200);
    EXPECT_EQ(world.waited.value(), 2);
}

TEST(RequestMemory, small_requests_use_all_while_nothing_large_waits) {
    World world;
    Holder a(world, RequestSize::small);
    Holder b(world, RequestSize::small);
    EXPECT_TRUE(a.grow(4000));
    EXPECT_TRUE(b.grow(4000));
    Holder c(world, RequestSize::large);
    Holder d(world, RequestSize::large);
    EXPECT_TRUE(c.grow(500));
    EXPECT_FALSE(d.grow(2000));
    // No more of the common memory for small ones, until the large one has got its part.
    a.drop();
    EXPECT_EQ(d.got, 2000);
}

TEST(RequestMemory, one_grows_beyond_the_limit_and_the_others_after_it) {
    World world;
    Holder a(world, RequestSize::large);
    Holder b(world, RequestSize::large);
    Holder c(world, RequestSize::large);
    Holder late(world, RequestSize::large);
    EXPECT_TRUE(a.grow(2500));
    EXPECT_TRUE(b.grow(2500));
    EXPECT_TRUE(c.grow(2500));
    EXPECT_TRUE(a.grow(5000));
    EXPECT_FALSE(b.grow(5000));
    EXPECT_FALSE(c.grow(5000));
    EXPECT_FALSE(late.grow(10));
    EXPECT_TRUE(a.grow(12'000));  // its client goes on: it waits for nobody
    EXPECT_EQ(world.held.value(), 17'000);
    a.drop();
    EXPECT_EQ(b.got, 5000);
    EXPECT_EQ(c.got, 5000);  // the next beyond the limit
    EXPECT_EQ(late.got, 0);
    b.drop();
    EXPECT_EQ(late.got, 10);
}

TEST(RequestMemory, whatever_the_order_everybody_gets_all) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        World world;
        rt::Rng rng(seed);
        std::uint64_t finished = 0;
        const auto task = [&](RequestSize size, std::uint64_t whole) -> rt::Task<void> {
            RequestMemory::Units units(world.memory, size);
            for (std::uint64_t step = std::min<std::uint64_t>(whole, 500);; step *= 2) {
                co_await world.memory.grow(units, std::min(step, whole));
                co_await rt::sleep_until(
                    world.sim.executor.now() + std::chrono::milliseconds(rng.below(50))
                );
                if (step >= whole) {
                    break;
                }
            }
            ++finished;
        };
        for (int i = 0; i < 60; ++i) {
            const bool small = rng.below(3) == 0;
            world.scope.spawn(task(
                small ? RequestSize::small : RequestSize::large,
                small ? rng.below(300) : rng.below(12'000)
            ));
        }
        for (int i = 0; i < 100; ++i) {
            world.sim.loop.run_for(50ms);
            ASSERT_LE(world.held.value(), limit + limit / 8 + 12'000);
        }
        ASSERT_EQ(finished, 60);
        ASSERT_EQ(world.held.value(), 0);
        ASSERT_FALSE(world.memory.contended());
    }
}

}  // namespace
}  // namespace lakestream::kafka
