// SPDX-License-Identifier: Apache-2.0
// What only the memory store does: several shards, natural order, nodes that pause, real threads.
#include "meta/memory_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "meta/key_order.h"
#include "meta/testing/store_under_test.h"
#include "rt/epoll/threads.h"

namespace lakestream::meta {
namespace {

using ::testing::ElementsAre;
using testing::StoreKind;
using testing::StoreUnderTest;

std::string near(StoreUnderTest& test, std::string key, Comparison comparison) {
    const auto found =
        test.wait(test.store().get({.key = std::move(key), .comparison = comparison}));
    return found.ok() ? found->key : "none";
}

void put_all(StoreUnderTest& test, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
        ASSERT_TRUE(test.run(put(test.store(), {.key = key})).ok());
    }
}

std::vector<std::string> list(StoreUnderTest& test) {
    return test.wait(test.store().list({})).value();
}

TEST(MemoryStore, Case15NaturalOrder) {
    StoreUnderTest test(StoreKind::memory, {.key_order = KeyOrder::natural});
    put_all(test, {"b/c", "a/b/c", "/b", "/", "/a/x", "a", "~", "\xc3\xa9", "//", "", "/a/", "/a"});
    EXPECT_THAT(
        list(test),
        ElementsAre("", "/", "//", "/a", "/a/", "/a/x", "/b", "a", "a/b/c", "b/c", "~", "\xc3\xa9")
    );
    EXPECT_EQ(near(test, "/a/", Comparison::lower), "/a");
}

TEST(MemoryStore, Case21ComparisonGetsOverShards) {
    StoreUnderTest test(StoreKind::memory, {.shards = 4});
    put_all(test, {"/p/a", "/p/b", "b/c", "a/b/c", "a", "b", "d", "f", "x"});
    EXPECT_EQ(near(test, "/p//", Comparison::lower), "/p/b");
    EXPECT_EQ(near(test, "b", Comparison::higher), "d");
    EXPECT_EQ(near(test, "e", Comparison::floor), "d");
    EXPECT_EQ(near(test, "x", Comparison::higher), "/p/a");
    EXPECT_EQ(near(test, "a", Comparison::lower), "none");
    EXPECT_EQ(near(test, "a/b/c", Comparison::ceiling), "a/b/c");
    EXPECT_EQ(near(test, "b/", Comparison::floor), "a/b/c");
}

TEST(MemoryStore, Case22ScansMergeShards) {
    StoreUnderTest test(StoreKind::memory, {.shards = 4, .scan_page_records = 7});
    std::vector<std::string> keys;
    rt::Rng rng(5);
    for (int i = 0; i < 2000; ++i) {
        std::string key = std::to_string(rng.below(1000));
        for (std::uint64_t depth = rng.below(4); depth > 0; --depth) {
            key += "/" + std::to_string(rng.below(10));
        }
        keys.push_back(key);
    }
    std::ranges::sort(keys, [](const auto& a, const auto& b) {
        return compare_keys(KeyOrder::hierarchical, a, b) < 0;
    });
    keys.erase(std::ranges::unique(keys).begin(), keys.end());
    put_all(test, keys);
    EXPECT_EQ(list(test), keys);
    const auto records = test.run(read_all(test.store(), {}, 10'000)).value();
    ASSERT_EQ(records.size(), keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(records[i].key, keys[i]);
    }
}

TEST(MemoryStore, Case25And26PartitionKeysChooseTheShard) {
    StoreUnderTest test(StoreKind::memory, {.shards = 10});
    MetadataStore& store = test.store();
    EXPECT_EQ(store.shards().size(), 10U);
    EXPECT_EQ(store.shard_of(""), ShardId(2));
    ASSERT_TRUE(test.run(put(store, {.key = "a", .partition_key = "d"})).ok());
    ASSERT_TRUE(test.run(put(store, {.key = "b", .partition_key = ""})).ok());
    EXPECT_TRUE(test.wait(store.get({.key = "a", .partition_key = "d"})).ok());
    EXPECT_TRUE(test.wait(store.get({.key = "b", .partition_key = ""})).ok());
    EXPECT_TRUE(test.wait(store.get({.key = "a"})).is(ErrorCode::not_found));
    EXPECT_THAT(list(test), ElementsAre("a", "b"));
    EXPECT_THAT(test.wait(store.list({.partition_key = "d"})).value(), ElementsAre("a"));
    // A record that readers would look for elsewhere is refused.
    EXPECT_TRUE(
        test.wait(store.write(ShardId(0), {.puts = {{.key = "d"}}, .deletes = {}, .ranges = {}})
        ).is(ErrorCode::invalid_argument)
    );
}

TEST(MemoryStore, SessionsSpanShards) {
    StoreUnderTest test(StoreKind::memory, {.shards = 4});
    MetadataStore& store = test.store();
    const SessionId session = test.wait(store.open_session(10s, "me", nullptr)).value();
    for (const std::string key : {"a", "d", "f", "x"}) {
        ASSERT_TRUE(test.run(put(store, {.key = key, .session = session})).ok());
    }
    ASSERT_TRUE(test.wait(store.close_session(session)).ok());
    EXPECT_THAT(list(test), ElementsAre());
}

/// A node of a simulated world, and the service.
struct World {
    rt::SimLoop loop{7};
    rt::SimClock clock{loop};
    rt::SimExecutor server{loop, clock, 1};
    rt::SimExecutor one{loop, clock, 2};
    rt::SimExecutor two{loop, clock, 3};
    MemoryMetadata service{server};
    MemoryStore store_of_one{service, one};
    MemoryStore store_of_two{service, two};

    template <class T>
    T wait(rt::SimExecutor& executor, rt::Future<T> future) {
        std::optional<T> result;
        auto task = [](rt::Future<T> pending, std::optional<T>& out) -> rt::Task<bool> {
            out.emplace(co_await pending);
            co_return true;
        }(std::move(future), result);
        const auto submitted = rt::submit(executor, std::move(task));
        EXPECT_TRUE(loop.run_until([&] { return result.has_value(); }));
        return std::move(*result);
    }
};

TEST(MemoryStore, APausedNodeLosesItsSessionAndLearnsIt) {
    World world;
    int lost = 0;
    const auto session =
        world.wait(world.one, world.store_of_one.open_session(2s, "one", [&lost] { ++lost; }));
    ASSERT_TRUE(session.ok());
    ShardBatch batch{.puts = {{.key = "k", .session = *session}}, .deletes = {}, .ranges = {}};
    ASSERT_TRUE(world.wait(world.one, world.store_of_one.write(ShardId(0), batch)).ok());
    world.loop.run_for(20s);
    EXPECT_TRUE(world.wait(world.two, world.store_of_two.get({.key = "k"})).ok());

    world.one.pause(world.loop.now() + 5s);
    world.loop.run_for(4s);
    EXPECT_FALSE(world.wait(world.two, world.store_of_two.get({.key = "k"})).ok());
    EXPECT_EQ(lost, 0);
    world.loop.run_for(2s);
    EXPECT_EQ(lost, 1);
    const auto late = world.wait(world.one, world.store_of_one.write(ShardId(0), std::move(batch)));
    EXPECT_TRUE(late->puts[0].is(ErrorCode::lease_lost));
}

TEST(MemoryStore, ADeadNodesSessionExpires) {
    World world;
    const auto session = world.wait(world.one, world.store_of_one.open_session(2s, "one", nullptr));
    ShardBatch batch{.puts = {{.key = "k", .session = *session}}, .deletes = {}, .ranges = {}};
    ASSERT_TRUE(world.wait(world.one, world.store_of_one.write(ShardId(0), std::move(batch))).ok());
    world.one.kill();
    world.loop.run_for(1500ms);
    EXPECT_TRUE(world.wait(world.two, world.store_of_two.get({.key = "k"})).ok());
    world.loop.run_for(1s);
    EXPECT_FALSE(world.wait(world.two, world.store_of_two.get({.key = "k"})).ok());
}

TEST(MemoryStore, RealThreadsShareIt) {
    constexpr int writers = 4;
    constexpr int writes = 500;
    const rt::SystemClock clock;
    rt::LoopThreads loops(clock, writers);
    MemoryMetadata service(loops[0], {.shards = 3});
    std::vector<std::unique_ptr<MemoryStore>> stores;
    std::atomic<int> answered{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < writers; ++i) {
        stores.push_back(std::make_unique<MemoryStore>(service, loops[i]));
        threads.emplace_back([&, store = stores.back().get(), loop = &loops[i]] {
            for (int n = 0; n < writes; ++n) {
                auto one = rt::submit(
                    *loop,
                    [](MetadataStore& target, std::atomic<int>& count) -> rt::Task<bool> {
                        const auto done = co_await put(
                            target, {.key = "s", .partition_key = "p", .sequence_deltas = {1}}
                        );
                        count += done.ok() ? 1 : 0;
                        co_return true;
                    }(*store, answered)
                );
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    while (answered.load() < writers * writes) {
        std::this_thread::yield();
    }
    const auto last =
        service.get({.key = "s-9", .comparison = Comparison::lower, .partition_key = "p"});
    EXPECT_EQ(last->key, "s-00000000000000002000");
    EXPECT_EQ(service.list({})->size(), static_cast<std::size_t>(writers * writes));
}

}  // namespace
}  // namespace lakestream::meta
