// SPDX-License-Identifier: Apache-2.0
// Pieces within a number of bytes: what is fetched, kept and in use, whoever asks.
#include "compact/piece_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "rt/sim/testing.h"

namespace lakestream::compact {
namespace {

constexpr std::uint64_t bytes_max = 100;

struct Piece {
    Room room;
    int number = 0;
};
using Cache = PieceCache<Piece>;

class PieceCacheTest : public testing::Test {
  protected:
    rt::Task<Result<Cache::Ptr>> fetch(int number, std::uint64_t bytes) {
        rt::Executor& executor = co_await rt::this_executor();
        auto piece = std::make_shared<Piece>();
        piece->room = co_await cache_.reserve(bytes);
        piece->number = number;
        ++fetches_[number];
        fetching_ += bytes;
        fetching_most_ = std::max(fetching_most_, fetching_);
        most_ = std::max(most_, cache_.bytes());
        co_await rt::sleep_until(executor.now() + 10ms);
        fetching_ -= bytes;
        if (number < 0) {
            co_return unavailable("piece {}", number);
        }
        co_return piece;
    }

    /// As `fetch`, for nobody yet.
    rt::Task<Result<Cache::Ptr>> fetch_into(Room room, int number) {
        rt::Executor& executor = co_await rt::this_executor();
        auto piece = std::make_shared<Piece>();
        piece->room = std::move(room);
        piece->number = number;
        ++fetches_[number];
        co_await rt::sleep_until(executor.now() + 10ms);
        co_return piece;
    }

    rt::Task<void> fetch_ahead(int number, std::uint64_t bytes) {
        const Cache::Key key("object", number);
        if (auto room = cache_.reserve_ahead(key, bytes)) {
            co_await cache_.get_ahead(key, bytes, fetch_into(*std::move(room), number));
        }
    }

    /// Ask for pieces one after the other, and use each for a while.
    rt::Task<void> read(std::vector<int> numbers, std::uint64_t bytes) {
        rt::Executor& executor = co_await rt::this_executor();
        for (const int number : numbers) {
            const auto piece = co_await cache_.get({"object", number}, fetch(number, bytes));
            EXPECT_EQ(piece.ok(), number >= 0);
            EXPECT_TRUE(!piece.ok() || (*piece)->number == number);
            co_await rt::sleep_until(executor.now() + 3ms);
            most_ = std::max(most_, cache_.bytes());
        }
        ++done_;
    }

    rt::SimTest sim_;
    Cache cache_{bytes_max};
    std::map<int, int> fetches_;
    std::uint64_t fetching_ = 0;
    std::uint64_t fetching_most_ = 0;
    std::uint64_t most_ = 0;
    int done_ = 0;
};

TEST_F(PieceCacheTest, what_fits_is_fetched_once_for_all) {
    rt::TaskScope scope(sim_.executor);
    for (int i = 0; i < 50; ++i) {
        scope.spawn(read({0, 1, 2, 3, 2, 1, 0}, 25));
    }
    sim_.run(scope.close());
    EXPECT_EQ(fetches_, (std::map<int, int>{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
    EXPECT_EQ(most_, 100U);
}

TEST_F(PieceCacheTest, many_readers_of_many_pieces_stay_within_the_bytes) {
    rt::TaskScope scope(sim_.executor);
    for (int i = 0; i < 50; ++i) {
        scope.spawn(read({10 * i, 10 * i + 1, 10 * i + 2}, 30));
    }
    sim_.run(scope.close());
    EXPECT_EQ(done_, 50);
    EXPECT_EQ(most_, 90U);
    EXPECT_EQ(fetching_most_, 90U) << "and are fetched side by side";
    EXPECT_EQ(fetches_.size(), 150U);
    EXPECT_TRUE(std::ranges::all_of(fetches_, [](const auto& f) { return f.second == 1; }));
}

TEST_F(PieceCacheTest, a_piece_larger_than_all_is_alone) {
    rt::TaskScope scope(sim_.executor);
    scope.spawn(read({0, 1}, 40));
    scope.spawn(read({2}, 1000));
    scope.spawn(read({3, 4}, 40));
    sim_.run(scope.close());
    EXPECT_EQ(done_, 3);
    EXPECT_EQ(most_, 1000U);
    EXPECT_EQ(fetching_most_, 1000U);
    sim_.run(read({5}, 40));
    EXPECT_LE(cache_.bytes(), bytes_max);
}

TEST_F(PieceCacheTest, what_is_known_better_counts_from_then_on) {
    auto piece = sim_.run(cache_.get({"object", 0}, fetch(0, 10)));
    ASSERT_TRUE(piece.ok());
    (*piece)->room.resize(95);
    EXPECT_EQ(cache_.bytes(), 95U);
    rt::TaskScope scope(sim_.executor);
    scope.spawn(read({1}, 10));
    sim_.loop.run_for(1s);
    EXPECT_EQ(done_, 0) << "it left the cache, but is in use";
    piece = Result<Cache::Ptr>(nullptr);
    sim_.run(scope.close());
    EXPECT_EQ(done_, 1);
    EXPECT_EQ(cache_.bytes(), 10U);
}

TEST_F(PieceCacheTest, errors_give_their_bytes_back_and_are_not_kept) {
    rt::TaskScope scope(sim_.executor);
    for (int i = 0; i < 10; ++i) {
        scope.spawn(read({-1 - i, i, -1 - i}, 60));
    }
    sim_.run(scope.close());
    EXPECT_EQ(done_, 10);
    EXPECT_EQ(most_, 60U);
    EXPECT_EQ(fetches_.at(-1), 2);
    EXPECT_EQ(cache_.bytes(), 0U) << "the last one made the others leave, and failed";
}

TEST_F(PieceCacheTest, what_was_fetched_ahead_is_there_when_it_is_asked_for) {
    sim_.run(fetch_ahead(0, 20));
    EXPECT_EQ(cache_.bytes(), 20U);
    rt::TaskScope scope(sim_.executor);
    scope.spawn(fetch_ahead(1, 20));
    scope.spawn(fetch_ahead(0, 20));
    sim_.run(scope.close());
    EXPECT_EQ(fetches_.count(1), 0U) << "a quarter of 100 is not enough for both";
    sim_.run(read({0}, 20));
    EXPECT_EQ(fetches_.at(0), 1);
    sim_.run(fetch_ahead(1, 20));
    EXPECT_EQ(fetches_.at(1), 1) << "the first one counts with the others now";
    cache_.forget({"object", 1});
    sim_.run(fetch_ahead(1, 20));
    EXPECT_EQ(fetches_.at(1), 2);
}

TEST_F(PieceCacheTest, who_asks_for_what_is_fetched_ahead_joins) {
    rt::TaskScope scope(sim_.executor);
    scope.spawn(fetch_ahead(0, 20));
    sim_.loop.run_for(1ms);
    scope.spawn(read({0}, 20));
    scope.spawn(fetch_ahead(0, 20));
    sim_.run(scope.close());
    EXPECT_EQ(fetches_.at(0), 1);
    sim_.run(fetch_ahead(1, 25));
    EXPECT_EQ(fetches_.at(1), 1) << "it was used";
}

TEST_F(PieceCacheTest, ahead_nothing_waits_for_room) {
    const auto piece = sim_.run(cache_.get({"object", 0}, fetch(0, 90)));
    sim_.run(fetch_ahead(1, 20));
    EXPECT_EQ(fetches_.count(1), 0U);
    EXPECT_EQ(cache_.bytes(), 90U);
    sim_.run(fetch_ahead(2, 10));
    EXPECT_EQ(fetches_.at(2), 1) << "this one has room";
}

TEST_F(PieceCacheTest, what_left_unused_ends_fetching_ahead_for_a_while) {
    sim_.run(fetch_ahead(0, 20));
    sim_.run(read({1, 2, 3}, 40));
    EXPECT_EQ(fetches_.at(0), 1);
    sim_.run(fetch_ahead(4, 20));
    EXPECT_EQ(fetches_.count(4), 0U);
    for (int i = 0; i < 62; ++i) {
        sim_.run(read({10 + i}, 40));
    }
    sim_.run(fetch_ahead(4, 20));
    EXPECT_EQ(fetches_.count(4), 0U) << "64 misses, of which one was before";
    sim_.run(read({100, 101}, 40));
    sim_.run(fetch_ahead(4, 20));
    EXPECT_EQ(fetches_.at(4), 1);
}

TEST_F(PieceCacheTest, a_piece_that_is_forgotten_is_fetched_again) {
    sim_.run(read({0}, 10));
    cache_.forget({"object", 0});
    cache_.forget({"object", 1});
    EXPECT_EQ(cache_.bytes(), 0U);
    sim_.run(read({0}, 10));
    EXPECT_EQ(fetches_.at(0), 2);
}

TEST_F(PieceCacheTest, readers_that_are_dropped_hold_nothing) {
    rt::SimExecutor killed(sim_.loop, sim_.clock, 2);
    rt::TaskScope gone(killed);
    for (int i = 0; i < 5; ++i) {
        gone.spawn(read({i}, 60));  // one fetches, one is next, the others are behind it
    }
    sim_.loop.run_for(1ms);
    rt::TaskScope stays(sim_.executor);
    stays.spawn(read({10, 11}, 60));
    stays.spawn(read({12}, 200));
    sim_.loop.run_for(1ms);
    EXPECT_EQ(cache_.bytes(), 60U);
    killed.kill();
    gone.abandon();
    sim_.run(stays.close());
    EXPECT_EQ(done_, 2);
    sim_.run(read({13}, 60));
    EXPECT_EQ(cache_.bytes(), 60U);
}

TEST_F(PieceCacheTest, a_piece_may_outlive_the_cache) {
    Cache::Ptr piece;
    {
        Cache cache(bytes_max);
        piece = std::make_shared<Piece>();
        piece->room = sim_.run(cache.reserve(10));
    }
    EXPECT_EQ(piece->room.bytes(), 10U);
}

}  // namespace
}  // namespace lakestream::compact
