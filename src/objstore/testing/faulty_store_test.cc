// SPDX-License-Identifier: Apache-2.0
// Each fault happens, is counted, and keeps what the store promises.
#include "objstore/testing/faulty_store.h"

#include <gtest/gtest.h>

#include "objstore/memory_store.h"
#include "rt/sim/testing.h"

namespace lakestream::objstore {
namespace {

constexpr Ratio always{1, 1};

Slices bytes_of(std::string_view text) {
    return Slices(Bytes::copy(text));
}

FaultOptions one_rule(const FaultRates& rates, std::string prefix = "") {
    FaultOptions options;
    options.rules.push_back({std::move(prefix), {{rates, rates, rates, rates, rates}}});
    return options;
}

class Faulty : public testing::Test {
  protected:
    FaultyStore& build(FaultOptions options, std::uint64_t seed = 1) {
        store.emplace(memory, sim.executor, std::move(options), seed);
        return *store;
    }

    Status put(std::string name, std::string_view body = "hello") {
        return sim.run(store->put(std::move(name), bytes_of(body), IfExists::fail));
    }

    void TearDown() override {
        if (store.has_value()) {
            sim.run(store->close());
        }
    }

    rt::SimTest sim;
    MemoryBucket bucket{sim.clock};
    MemoryStore memory{bucket};
    std::optional<FaultyStore> store;
};

TEST_F(Faulty, FailedBeforeMeansNothingApplied) {
    build(one_rule({.fail_before = always}));
    for (int i = 0; i < 20; ++i) {
        const Status failed = put("x");
        EXPECT_TRUE(failed.is(ErrorCode::unavailable) || failed.is(ErrorCode::deadline_exceeded));
    }
    EXPECT_EQ(bucket.size(), 0U);
    EXPECT_EQ(store->count(Fault::fail_before), 20U);
}

TEST_F(Faulty, ALostAnswerWasApplied) {
    build(one_rule({.lose_answer = always}));
    EXPECT_TRUE(put("x").is(ErrorCode::outcome_unknown));
    EXPECT_EQ(bucket.size(), 1U);
    EXPECT_TRUE(sim.run(store->get("x", std::nullopt)).is(ErrorCode::unavailable));
    EXPECT_TRUE(sim.run(store->head("x")).is(ErrorCode::unavailable));
    EXPECT_TRUE(sim.run(store->list("", "", 1)).is(ErrorCode::unavailable));
    std::vector<std::string> names{"x"};
    EXPECT_TRUE(sim.run(store->remove(names))[0].is(ErrorCode::outcome_unknown));
    EXPECT_EQ(bucket.size(), 0U);
}

TEST_F(Faulty, WhatIsLateComesWithoutTheCaller) {
    build(one_rule({.apply_late = always}));
    EXPECT_TRUE(put("x").is(ErrorCode::outcome_unknown));
    EXPECT_EQ(bucket.size(), 0U);
    store->heal();
    sim.loop.run_for(121s);
    EXPECT_EQ(bucket.size(), 1U);
    store->hurt();
    std::vector<std::string> names{"x"};
    EXPECT_TRUE(sim.run(store->remove(names))[0].is(ErrorCode::outcome_unknown));
    EXPECT_EQ(bucket.size(), 1U);
    sim.loop.run_for(121s);
    EXPECT_EQ(bucket.size(), 0U);
}

TEST_F(Faulty, ThrottlingComesInBursts) {
    build(one_rule({.throttle = {1, 10}}));
    int changes = 0;
    int refused = 0;
    bool last = false;
    for (int i = 0; i < 2000; ++i) {
        const Status result = put(fmt::format("{}", i));
        const bool now = result.is(ErrorCode::throttled);
        EXPECT_EQ(now, !result.ok());
        EXPECT_EQ(now, !result.ok() && result.error().retry_after > 0ms);
        changes += now != last ? 1 : 0;
        refused += now ? 1 : 0;
        last = now;
    }
    EXPECT_GT(refused, 1000);
    EXPECT_LT(changes, 100);
    store->heal();
    EXPECT_TRUE(put("healed").ok());
}

TEST_F(Faulty, RulesGoByTheLongestPrefix) {
    FaultOptions options = one_rule({.disk_full = always}, "wal/");
    options.rules.push_back({"wal/keep/", {}});
    build(std::move(options));
    EXPECT_TRUE(put("wal/x").is(ErrorCode::exhausted));
    EXPECT_TRUE(put("wal/keep/x").ok());
    EXPECT_TRUE(put("tables/x").ok());
    EXPECT_EQ(bucket.size(), 2U);
}

TEST_F(Faulty, BodiesAreDamagedAsTheirReaderCouldMeetThem) {
    const std::string body = "0123456789";
    const auto get = [&](std::optional<ByteRange> range) {
        return sim.run(store->get("x", range));
    };
    ASSERT_TRUE(bucket.put("x", bytes_of(body), IfExists::fail).ok());
    build(one_rule({.decayed = always, .flipped_bit = always}));
    EXPECT_TRUE(get({}).is(ErrorCode::corrupt));
    const Result<Bytes> flipped = get(ByteRange{2, 6});
    ASSERT_EQ(flipped->size(), 4U);
    int bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        bits += std::popcount(static_cast<unsigned char>(flipped->view()[i] ^ body[i + 2]));
    }
    EXPECT_EQ(bits, 1);
    EXPECT_EQ(bucket.get("x", {})->view(), body);
    store.reset();
    build(one_rule({.short_body = always}));
    EXPECT_TRUE(get({}).is(ErrorCode::unavailable));
    store.reset();
    build(one_rule({.wrong_range = always}), 3);
    std::string seen;
    for (int i = 0; i < 20; ++i) {
        seen += get(ByteRange{0, 1})->view();
    }
    EXPECT_NE(seen, std::string(20, '0'));
    EXPECT_TRUE(get(ByteRange{0, 11}).is(ErrorCode::out_of_range));
    EXPECT_EQ(get(std::nullopt)->view(), body);
}

TEST_F(Faulty, AnObjectMayShowUpLater) {
    FaultOptions options;
    options.settle = 10s;
    build(std::move(options));
    ASSERT_TRUE(put("x").ok());
    EXPECT_TRUE(sim.run(store->get("x", std::nullopt)).is(ErrorCode::not_found));
    EXPECT_EQ(store->count(Fault::not_yet_visible), 1U);
    sim.loop.run_for(10s);
    EXPECT_TRUE(sim.run(store->get("x", std::nullopt)).ok());
}

TEST_F(Faulty, LatencyHasATail) {
    build(one_rule({.slow = {1, 100}}));
    int long_ones = 0;
    for (int i = 0; i < 1000; ++i) {
        const MonoTime begin = sim.loop.now();
        ASSERT_TRUE(put(fmt::format("{}", i)).ok());
        const Duration time = sim.loop.now() - begin;
        EXPECT_GE(time, 1ms);
        long_ones += time > 20ms ? 1 : 0;
    }
    EXPECT_GT(long_ones, 2);
    EXPECT_LT(long_ones, 40);
}

/// A hash of the fate of many requests.
std::uint64_t fate(std::uint64_t seed) {
    rt::SimTest sim(seed);
    MemoryBucket bucket(sim.clock);
    MemoryStore memory(bucket);
    FaultRates rates{
        .fail_before = {1, 4}, .lose_answer = {1, 4}, .apply_late = {1, 4}, .throttle = {1, 20}
    };
    FaultyStore store(memory, sim.executor, one_rule(rates), seed);
    std::uint64_t hash = 0;
    for (int i = 0; i < 200; ++i) {
        const Status result =
            sim.run(store.put(fmt::format("{}", i), bytes_of("x"), IfExists::fail));
        hash = hash * 31 + (result.ok() ? 99 : static_cast<std::uint64_t>(result.code()));
    }
    sim.run(store.close());
    return hash ^ sim.loop.trace();
}

TEST(FaultySeed, SameSeedSameFate) {
    EXPECT_EQ(fate(1), fate(1));
    EXPECT_NE(fate(1), fate(2));
}

}  // namespace
}  // namespace lakestream::objstore
