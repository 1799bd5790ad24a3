// SPDX-License-Identifier: Apache-2.0
// Bounds of binary columns: cut to 16 bytes, and still bounds.
#include "table/arrow/binary_bounds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lakestream::table {
namespace {

BinaryBounds bounds_of(const std::vector<std::string>& values) {
    BinaryBounds bounds;
    for (const auto& value : values) {
        bounds.add(value);
    }
    return bounds;
}

TEST(BinaryBounds, NoValuesNoBounds) {
    EXPECT_FALSE(BinaryBounds().lower().has_value());
    EXPECT_FALSE(BinaryBounds().upper().has_value());
}

TEST(BinaryBounds, ShortValuesAreBoundsThemselves) {
    const auto bounds = bounds_of({"b", "", "\xFF", "abc"});
    EXPECT_EQ(bounds.lower()->view(), "");
    EXPECT_EQ(bounds.upper()->view(), "\xFF");
}

TEST(BinaryBounds, LongValuesAreCutAndTheUpperBoundRoundedUp) {
    const auto bounds = bounds_of({"0123456789abcdefgh"});
    EXPECT_EQ(bounds.lower()->view(), "0123456789abcdef");
    EXPECT_EQ(bounds.upper()->view(), "0123456789abcdeg");
}

TEST(BinaryBounds, OfEqualPrefixesTheLongerValueCounts) {
    const std::string prefix = "0123456789abcdef";
    EXPECT_EQ(bounds_of({prefix}).upper()->view(), prefix);
    EXPECT_EQ(bounds_of({prefix, prefix + "x"}).upper()->view(), "0123456789abcdeg");
    EXPECT_EQ(bounds_of({prefix + "x", prefix}).upper()->view(), "0123456789abcdeg");
    EXPECT_EQ(bounds_of({prefix + "x", "1"}).upper()->view(), "1");
}

TEST(BinaryBounds, RoundingCarries) {
    const std::string tail(20, '\xFF');
    EXPECT_EQ(bounds_of({"a" + tail}).upper()->view(), "b");
    EXPECT_FALSE(bounds_of({tail}).upper().has_value());
}

}  // namespace
}  // namespace lakestream::table
