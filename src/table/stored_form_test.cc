// SPDX-License-Identifier: Apache-2.0
// What the table stores of times and texts it cannot hold.
#include "table/stored_form.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace lakestream::table {
namespace {

std::string stored(std::string_view key) {
    std::string scratch;
    return std::string(stored_text(key, scratch));
}

TEST(StoredForm, TimesThatMicrosecondsCannotHoldAreClamped) {
    constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(stored_micros(1782909296123), 1782909296123000);
    EXPECT_EQ(stored_micros(-1), -1000);
    EXPECT_EQ(stored_micros(max), max / 1000 * 1000);
    EXPECT_EQ(stored_micros(std::numeric_limits<std::int64_t>::min()), -(max / 1000 * 1000));
}

TEST(StoredForm, TextStaysWhereItIs) {
    std::string scratch;
    const std::string_view key = "trace \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF";
    EXPECT_EQ(stored_text(key, scratch).data(), key.data());
    EXPECT_EQ(stored(""), "");
}

TEST(StoredForm, WhatIsNotTextIsReplacedPartByPart) {
    const std::string r = "\xEF\xBF\xBD";
    EXPECT_EQ(stored("a\xFF"), "a" + r);
    EXPECT_EQ(stored("\x80z"), r + "z");
    EXPECT_EQ(stored("\xC0\xAF"), r + r) << "overlong";
    EXPECT_EQ(stored("\xE2\x82"), r) << "cut short";
    EXPECT_EQ(stored("\xE2\x82x"), r + "x");
    EXPECT_EQ(stored("\xED\xA0\x80"), r + r + r) << "surrogate";
    EXPECT_EQ(stored("\xF0\x9F\x98\xC3\xA9"), r + "\xC3\xA9");
    EXPECT_EQ(stored("\xF4\x90\x80\x80"), r + r + r + r) << "above U+10FFFF";
}

}  // namespace
}  // namespace lakestream::table
