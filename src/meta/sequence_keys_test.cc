// SPDX-License-Identifier: Apache-2.0
// The rule of sequence keys, by vectors.
#include "meta/sequence_keys.h"

#include <gtest/gtest.h>

#include <limits>

namespace lakestream::meta {
namespace {

constexpr std::uint64_t max = std::numeric_limits<std::uint64_t>::max();

TEST(SequenceKeys, HaveTwentyDigits) {
    const SequenceNumbers numbers{5, max};
    EXPECT_EQ(sequence_key("a", numbers), "a-00000000000000000005-18446744073709551615");
    EXPECT_EQ(sequence_end("a"), "a-18446744073709551615");
}

TEST(SequenceKeys, CurrentNumbersComeFromTheHighestKey) {
    const auto current = [](std::string_view highest) { return current_numbers("a", highest); };
    EXPECT_EQ(current("a-00000000000000000014-00000000000000000009"), (SequenceNumbers{14, 9}));
    EXPECT_EQ(current(""), SequenceNumbers{});
    EXPECT_EQ(current("Z-00000000000000000014"), SequenceNumbers{});
    // Others' keys under the name: hazards that the servers have too.
    EXPECT_EQ(current("a"), SequenceNumbers{});
    EXPECT_EQ(current("a+xxxx"), SequenceNumbers{});
    EXPECT_EQ(current("a-1"), SequenceNumbers{1});
    EXPECT_EQ(current("a-18"), SequenceNumbers{18});
    EXPECT_EQ(current("a-1-00000000000000000003"), (SequenceNumbers{1, 3}));
    EXPECT_EQ(current("a-1x"), SequenceNumbers{1});
    EXPECT_TRUE(current("a-").is(ErrorCode::invalid_argument));
    EXPECT_TRUE(current("a-x1").is(ErrorCode::invalid_argument));
    EXPECT_TRUE(current("a-99999999999999999999").is(ErrorCode::invalid_argument));
}

TEST(SequenceKeys, DeltasAreAdded) {
    const auto next = [](const SequenceNumbers& current, SequenceNumbers deltas) {
        return next_numbers(current, deltas);
    };
    EXPECT_EQ(next({}, {5}), SequenceNumbers{5});
    EXPECT_EQ(next({5}, {3}), SequenceNumbers{8});
    EXPECT_EQ(next({8}, {6, 9}), (SequenceNumbers{14, 9}));
    EXPECT_TRUE(next({14, 9}, {2}).is(ErrorCode::invalid_argument));
    EXPECT_EQ(next({14, 9}, {6, 9, 15}), (SequenceNumbers{20, 18, 15}));
    EXPECT_EQ(next({14, 9}, {1, 0}), (SequenceNumbers{15, 9}));
    EXPECT_TRUE(next({}, {0}).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(next({}, {}).is(ErrorCode::invalid_argument));
}

TEST(SequenceKeys, EndBeforeTheyWrap) {
    const auto next = [](const SequenceNumbers& current, SequenceNumbers deltas) {
        return next_numbers(current, deltas);
    };
    EXPECT_EQ(next({max - 2}, {1}), SequenceNumbers{max - 1});
    EXPECT_TRUE(next({max - 1}, {1}).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(next({max - 1}, {2}).is(ErrorCode::invalid_argument));
    EXPECT_EQ(next({1, max - 1}, {1, 1}), (SequenceNumbers{2, max}));
    EXPECT_TRUE(next({1, max}, {1, 1}).is(ErrorCode::invalid_argument));
}

}  // namespace
}  // namespace lakestream::meta
