// SPDX-License-Identifier: Apache-2.0
// Repeated log lines are left out and counted.
#include "server/log_sink.h"

#include <gtest/gtest.h>

namespace lakestream::server {
namespace {

TEST(RepeatFilter, CountsWhatItLeavesOut) {
    RepeatFilter filter;
    const MonoTime start(1h);
    for (std::uint32_t i = 0; i < RepeatFilter::lines_per_window; ++i) {
        EXPECT_TRUE(filter.admit("wal put_failed", start).write);
    }
    EXPECT_FALSE(filter.admit("wal put_failed", start).write);
    EXPECT_FALSE(filter.admit("wal put_failed", start + 9s).write);
    EXPECT_TRUE(filter.admit("wal other", start).write);
    const auto later = filter.admit("wal put_failed", start + 10s);
    EXPECT_TRUE(later.write);
    EXPECT_EQ(later.left_out, 2U);
    EXPECT_EQ(filter.admit("wal put_failed", start + 10s).left_out, 0U);
}

TEST(RepeatFilter, IsBounded) {
    RepeatFilter filter;
    const MonoTime start(1h);
    for (std::size_t i = 0; i < RepeatFilter::events_max + 10; ++i) {
        EXPECT_TRUE(filter.admit(std::to_string(i), start).write);
    }
    // A full table lets lines of new events through rather than forget those it counts.
    for (std::uint32_t i = 0; i <= RepeatFilter::lines_per_window; ++i) {
        EXPECT_TRUE(filter.admit("new", start).write);
        EXPECT_EQ(filter.admit("0", start).write, i + 1 < RepeatFilter::lines_per_window);
    }
}

TEST(LogLevel, HasFourNames) {
    EXPECT_EQ(log_level("debug"), log::Level::debug);
    EXPECT_EQ(log_level("error"), log::Level::error);
}

}  // namespace
}  // namespace lakestream::server
