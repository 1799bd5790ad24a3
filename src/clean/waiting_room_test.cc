// SPDX-License-Identifier: Apache-2.0
// Who waits, for how long, and what happens when there is no place.
#include "clean/waiting_room.h"

#include <gtest/gtest.h>

namespace lakestream::clean {
namespace {

constexpr MonoTime start{1h};

TEST(WaitingRoom, what_is_found_free_again_after_the_grace_is_ripe) {
    WaitingRoom room(10s);
    EXPECT_FALSE(room.waits());
    room.begin_pass();
    EXPECT_FALSE(room.found_free("a", start));
    EXPECT_FALSE(room.found_free("a", start + 1min));  // not in the pass that found it
    room.end_round();
    EXPECT_TRUE(room.waits());
    room.begin_pass();
    EXPECT_FALSE(room.found_free("a", start + 9s));
    EXPECT_TRUE(room.found_free("a", start + 10s));
    room.forget("a");
    EXPECT_FALSE(room.found_free("a", start + 10s));
    room.end_round();
    room.begin_pass();
    room.end_round();  // nobody has seen it
    EXPECT_FALSE(room.waits());
}

TEST(WaitingRoom, what_finds_no_place_wants_another_round) {
    WaitingRoom room(0s, 1);
    room.begin_pass();
    room.found_free("a", start);
    room.found_free("b", start);
    room.begin_pass();  // a later stretch of the round has nothing for it
    room.end_round();
    EXPECT_EQ(room.size(), 1U);
    room.begin_pass();
    EXPECT_TRUE(room.found_free("a", start));
    EXPECT_FALSE(room.found_free("b", start));
    room.forget("a");  // deleted
    room.begin_pass();
    room.end_round();
    EXPECT_EQ(room.size(), 0U);
    EXPECT_TRUE(room.waits());
    room.begin_pass();
    EXPECT_FALSE(room.found_free("b", start));
    room.end_round();
    room.begin_pass();
    EXPECT_TRUE(room.found_free("b", start));
    room.forget("b");
    room.end_round();
    EXPECT_FALSE(room.waits());
}

}  // namespace
}  // namespace lakestream::clean
