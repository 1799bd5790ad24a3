// SPDX-License-Identifier: Apache-2.0
// One run for all who ask at the same time, and what becomes of them when it is dropped.
#include "rt/single_flight.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "rt/sim/testing.h"

namespace lakestream::rt {
namespace {

class SingleFlightTest : public testing::Test {
  protected:
    Task<Result<int>> slow(int answer) {
        ++runs_;
        Executor& executor = co_await this_executor();
        co_await sleep_until(executor.now() + 1s);
        if (answer < 0) {
            co_return unavailable("the answer is {}", answer);
        }
        co_return answer;
    }

    Task<void> ask(std::string key, int answer) {
        answers_.push_back(co_await flights_.run(std::move(key), slow(answer)));
    }

    SimTest sim_;
    SingleFlight<std::string, int> flights_;
    int runs_ = 0;
    std::vector<Result<int>> answers_;
};

TEST_F(SingleFlightTest, all_who_ask_meanwhile_get_the_first_ones_answer) {
    TaskScope scope(sim_.executor);
    scope.spawn(ask("a", 1));
    scope.spawn(ask("b", 2));
    scope.spawn(ask("a", 3));
    sim_.loop.run_for(500ms);
    scope.spawn(ask("a", 4));
    sim_.loop.run_for(2s);
    ASSERT_EQ(answers_.size(), 4U);
    int sum = 0;
    for (const Result<int>& answer : answers_) {
        sum += answer.value();
    }
    EXPECT_EQ(sum, 1 + 1 + 1 + 2);
    EXPECT_EQ(runs_, 2);
    scope.spawn(ask("a", 5));
    sim_.run(scope.close());
    EXPECT_EQ(answers_.back().value(), 5) << "nothing is kept";
}

TEST_F(SingleFlightTest, errors_are_shared_too) {
    TaskScope scope(sim_.executor);
    scope.spawn(ask("a", -1));
    scope.spawn(ask("a", 1));
    sim_.run(scope.close());
    ASSERT_EQ(answers_.size(), 2U);
    EXPECT_TRUE(answers_[0].is(ErrorCode::unavailable));
    EXPECT_TRUE(answers_[1].is(ErrorCode::unavailable));
}

TEST_F(SingleFlightTest, who_waits_for_one_that_is_dropped_is_told) {
    SimExecutor killed(sim_.loop, sim_.clock, 2);
    TaskScope first(killed);
    TaskScope second(sim_.executor);
    first.spawn(ask("a", 1));
    sim_.loop.run_for(1ms);
    second.spawn(ask("a", 2));
    sim_.loop.run_for(1ms);
    killed.kill();
    first.abandon();
    sim_.run(second.close());
    ASSERT_EQ(answers_.size(), 1U);
    EXPECT_TRUE(answers_[0].is(ErrorCode::cancelled));
    sim_.run(ask("a", 3));
    EXPECT_EQ(answers_.back().value(), 3) << "the key is free again";
}

}  // namespace
}  // namespace lakestream::rt
