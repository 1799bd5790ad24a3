// SPDX-License-Identifier: Apache-2.0
// Delivery to subscribers, and what a slow one is told.
#include "meta/change_feed.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rt/sim/testing.h"

namespace lakestream::meta {
namespace {

struct Seen {
    std::vector<std::int64_t> offsets;
    std::vector<ShardId> gaps;

    SubscribeHandler handler() {
        return {
            .changed = [this](const ChangeBatch& batch) { offsets.push_back(batch.offset); },
            .gap = [this](ShardId shard) { gaps.push_back(shard); },
        };
    }
};

void publish(ChangeFeed& feed, std::int64_t begin, std::int64_t end) {
    for (std::int64_t offset = begin; offset < end; ++offset) {
        feed.publish({.shard = ShardId(3), .offset = offset, .changes = {}});
    }
}

TEST(ChangeFeed, DeliversInOrderToEach) {
    rt::SimTest sim;
    rt::SimExecutor other(sim.loop, sim.clock, 2);
    ChangeFeed feed;
    Seen one;
    Seen two;
    const auto first = feed.subscribe(sim.executor, one.handler());
    publish(feed, 0, 2);
    const auto second = feed.subscribe(other, two.handler());
    publish(feed, 2, 4);
    EXPECT_TRUE(one.offsets.empty());  // never inside `publish`
    sim.loop.run_for(1ms);
    EXPECT_EQ(one.offsets, (std::vector<std::int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(two.offsets, (std::vector<std::int64_t>{2, 3}));
}

TEST(ChangeFeed, ADroppedSubscriptionHearsNothing) {
    rt::SimTest sim;
    ChangeFeed feed;
    Seen seen;
    auto subscription = feed.subscribe(sim.executor, seen.handler());
    publish(feed, 0, 2);
    subscription.reset();
    publish(feed, 2, 4);
    sim.loop.run_for(1ms);
    EXPECT_TRUE(seen.offsets.empty());
}

TEST(ChangeFeed, ASlowSubscriberIsToldOfTheGapBeforeWhatFollows) {
    rt::SimTest sim;
    ChangeFeed feed;
    Seen seen;
    const auto subscription = feed.subscribe(sim.executor, seen.handler());
    const auto full = static_cast<std::int64_t>(ChangeFeed::queue_max);
    publish(feed, 0, full);
    sim.loop.run_for(1ms);
    EXPECT_TRUE(seen.gaps.empty());
    EXPECT_EQ(seen.offsets.size(), ChangeFeed::queue_max);

    seen.offsets.clear();
    publish(feed, 0, full + 2);
    sim.loop.run_for(1ms);
    EXPECT_EQ(seen.gaps, std::vector<ShardId>{ShardId(3)});
    EXPECT_EQ(seen.offsets, (std::vector<std::int64_t>{full, full + 1}));
}

}  // namespace
}  // namespace lakestream::meta
