// SPDX-License-Identifier: Apache-2.0
// That each fault happens, does what it says, and that a run is told by its seed.
#include "meta/testing/faulty_metadata.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meta/memory_store.h"
#include "rt/sim/loop.h"

namespace lakestream::meta::testing {
namespace {

constexpr Ratio always{.times = 1, .of = 1};
constexpr Ratio sometimes{.times = 1, .of = 3};

/// One node behind a faulty network.
class FaultyWorld {
  public:
    explicit FaultyWorld(MetadataFaults faults, std::uint64_t seed = 1) : loop(seed) {
        store.set_faults(faults);
    }

    // What is on its way arrives, before the executors go.
    ~FaultyWorld() {
        store.heal();
        loop.run_for(10min);
        EXPECT_TRUE(store.quiet());
    }
    FaultyWorld(const FaultyWorld&) = delete;
    FaultyWorld& operator=(const FaultyWorld&) = delete;

    template <class T>
    T wait(rt::Future<T> future) {
        std::optional<T> result;
        const auto submitted =
            rt::submit(node, [](rt::Future<T> pending, std::optional<T>& out) -> rt::Task<bool> {
                out.emplace(co_await pending);
                co_return true;
            }(std::move(future), result));
        EXPECT_TRUE(loop.run_until([&] { return result.has_value(); }));
        return std::move(*result);
    }

    template <class T>
    T run(rt::Task<T> task) {
        return wait(rt::submit(node, std::move(task)));
    }

    // A sequence put; its number, or its error's name.
    rt::Future<Result<ShardBatchDone>> append(std::string value = "") {
        ShardBatch batch;
        batch.puts.push_back({
            .key = "s",
            .value = Bytes::own(std::move(value)),
            .partition_key = "p",
            .sequence_deltas = {1},
        });
        return store.write(ShardId(0), std::move(batch));
    }

    std::vector<std::string> stored() { return service.list({}).value(); }

    rt::SimLoop loop;
    rt::SimClock clock{loop};
    rt::SimExecutor server{loop, clock, 1};
    rt::SimExecutor node{loop, clock, 2};
    MemoryMetadata service{server};
    MemoryStore client{service, node};
    FaultyMetadata store{client, node, server, {}, 7};
};

TEST(FaultyMetadata, WithoutFaultsItIsTheStore) {
    FaultyWorld world({});
    EXPECT_EQ(world.wait(world.append())->puts[0]->key, "s-00000000000000000001");
    EXPECT_TRUE(world.wait(world.store.get({.key = "s-00000000000000000001"})).ok());
    EXPECT_EQ(world.run(read_all(world.store, {}, 10))->size(), 1U);
    EXPECT_EQ(world.wait(world.store.list({}))->size(), 1U);
}

TEST(FaultyMetadata, RefusedWritesAreNotApplied) {
    FaultyWorld world({.refuse = always});
    for (int i = 0; i < 20; ++i) {
        const auto done = world.wait(world.append());
        EXPECT_TRUE(
            done.is(ErrorCode::unavailable) || done.is(ErrorCode::throttled) ||
            done.is(ErrorCode::deadline_exceeded)
        );
    }
    EXPECT_TRUE(world.stored().empty());
    EXPECT_EQ(world.store.counts().refused, 20U);
}

TEST(FaultyMetadata, DroppedWritesAreNotAppliedAndNotKnown) {
    FaultyWorld world({.drop = always});
    EXPECT_TRUE(world.wait(world.append()).is(ErrorCode::outcome_unknown));
    world.loop.run_for(1min);
    EXPECT_TRUE(world.stored().empty());
}

TEST(FaultyMetadata, LostAnswersAreApplied) {
    FaultyWorld world({.lose_answer = always});
    EXPECT_TRUE(world.wait(world.append()).is(ErrorCode::outcome_unknown));
    EXPECT_EQ(world.stored().size(), 1U);
}

TEST(FaultyMetadata, LateWritesComeBehindNewerOnes) {
    FaultyWorld world({.apply_late = always, .late_max = 10s});
    EXPECT_TRUE(world.wait(world.append("late")).is(ErrorCode::outcome_unknown));
    EXPECT_TRUE(world.stored().empty());
    world.store.heal();
    EXPECT_EQ(world.wait(world.append("new"))->puts[0]->key, "s-00000000000000000001");
    EXPECT_FALSE(world.store.quiet());
    world.loop.run_for(11s);
    EXPECT_TRUE(world.store.quiet());
    EXPECT_EQ(world.service.get({.key = "s-00000000000000000002"})->value.view(), "late");
}

TEST(FaultyMetadata, ALateWriteSurvivesItsNode) {
    FaultyWorld world({.apply_late = always, .late_max = 10s});
    auto forgotten = world.append();
    world.loop.run_for(1ms);
    world.node.kill();
    world.loop.run_for(11s);
    EXPECT_EQ(world.stored().size(), 1U);
}

TEST(FaultyMetadata, DelaysKeepTheOrderOfWrites) {
    FaultyWorld world({.request_delay_max = 50ms, .answer_delay_max = 50ms});
    std::vector<rt::Future<Result<ShardBatchDone>>> pending;
    for (int i = 1; i <= 50; ++i) {
        pending.push_back(world.append(std::to_string(i)));
    }
    for (int i = 1; i <= 50; ++i) {
        const auto done = world.wait(std::move(pending[static_cast<std::size_t>(i - 1)]));
        EXPECT_EQ(done->puts[0]->key, fmt::format("s-{:020}", i));
    }
    EXPECT_GT(world.clock.mono_now().time_since_epoch(), 1h + 50ms);
}

TEST(FaultyMetadata, ReadsFail) {
    FaultyWorld world({.fail_read = always});
    EXPECT_FALSE(world.wait(world.store.get({.key = "k"})).is(ErrorCode::not_found));
    EXPECT_FALSE(world.wait(world.store.list({})).ok());
    EXPECT_FALSE(world.run(read_all(world.store, {}, 10)).ok());
    EXPECT_EQ(world.store.counts().reads_failed, 3U);
}

TEST(FaultyMetadata, CutScansStopShort) {
    FaultyWorld world({});
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(world.wait(world.append()).ok());
    }
    world.store.set_faults({.cut_scan = always});
    const auto cut = world.run(read_all(world.store, {}, 100)).value();
    EXPECT_LT(cut.size(), 20U);
    for (std::size_t i = 0; i < cut.size(); ++i) {
        EXPECT_EQ(cut[i].key, fmt::format("s-{:020}", i + 1));
    }
}

TEST(FaultyMetadata, ASessionEndsBeforeItsOwnerKnows) {
    FaultyWorld world({.lose_session = always, .session_life_max = 10s, .loss_notice_max = 5s});
    int lost = 0;
    const auto session = world.wait(world.store.open_session(30s, "me", [&lost] { ++lost; }));
    ASSERT_TRUE(session.ok());
    ASSERT_TRUE(world.run(put(world.store, {.key = "k", .session = *session})).ok());
    ASSERT_TRUE(world.loop.run_until([&] { return world.stored().empty(); }));
    EXPECT_EQ(lost, 0);
    world.loop.run_for(5s);
    EXPECT_EQ(lost, 1);
    EXPECT_TRUE(world.wait(world.store.close_session(*session)).is(ErrorCode::not_found));
    world.loop.run_for(1min);
    EXPECT_EQ(lost, 1);
}

TEST(FaultyMetadata, AClosedSessionIsNotLost) {
    FaultyWorld world({});
    int lost = 0;
    const auto session = world.wait(world.store.open_session(30s, "me", [&lost] { ++lost; }));
    EXPECT_TRUE(world.wait(world.store.close_session(*session)).ok());
    world.store.lose_session(*session);
    world.loop.run_for(1min);
    EXPECT_EQ(lost, 0);
}

struct Seen {
    std::vector<std::int64_t> offsets;
    int gaps = 0;

    SubscribeHandler handler() {
        return {
            .changed = [this](const ChangeBatch& batch) { offsets.push_back(batch.offset); },
            .gap = [this](ShardId) { ++gaps; },
        };
    }
};

Seen watch(MetadataFaults faults) {
    FaultyWorld world(faults);
    Seen seen;
    auto subscription = world.wait(world.store.subscribe(world.node, seen.handler()));
    EXPECT_TRUE(subscription.ok());
    for (int i = 0; i < 60; ++i) {
        EXPECT_TRUE(world.wait(world.append()).ok());
    }
    world.loop.run_for(1min);
    return seen;
}

TEST(FaultyMetadata, ChangesAreLateAndRepeatedButInOrder) {
    const Seen seen = watch({.delay_change = sometimes, .repeat_change = sometimes});
    EXPECT_TRUE(std::ranges::is_sorted(seen.offsets));
    EXPECT_GT(seen.offsets.size(), 60U);
    EXPECT_EQ(seen.offsets.front(), 0);
    EXPECT_EQ(seen.offsets.back(), 59);
    EXPECT_EQ(seen.gaps, 0);
}

TEST(FaultyMetadata, LostChangesAreToldAsGaps) {
    const Seen seen = watch({.gap = sometimes});
    EXPECT_GT(seen.gaps, 0);
    EXPECT_EQ(seen.offsets.size() + static_cast<std::size_t>(seen.gaps), 60U);
}

std::uint64_t trace_of(std::uint64_t seed) {
    const MetadataFaults faults{
        .refuse = sometimes,
        .lose_answer = sometimes,
        .apply_late = sometimes,
        .request_delay_max = 5ms,
        .answer_delay_max = 5ms,
    };
    FaultyWorld world(faults, seed);
    for (int i = 0; i < 50; ++i) {
        static_cast<void>(world.wait(world.append()).ok());
    }
    world.loop.run_for(1min);
    return world.loop.trace();
}

TEST(FaultyMetadata, TheSeedTellsTheRun) {
    EXPECT_EQ(trace_of(3), trace_of(3));
    EXPECT_NE(trace_of(3), trace_of(4));
}

}  // namespace
}  // namespace lakestream::meta::testing
