// SPDX-License-Identifier: Apache-2.0
// Bytes and Slices: what is shared, what is copied, what is equal.
#include "base/slices.h"

#include <gtest/gtest.h>

#include <string>

namespace lakestream {
namespace {

TEST(Bytes, a_slice_keeps_the_buffer_and_a_compact_one_does_not) {
    auto buffer = std::make_shared<const std::string>("0123456789");
    const std::weak_ptr<const std::string> watched = buffer;
    Bytes whole = Bytes::share(buffer, std::as_bytes(std::span(*buffer)));
    buffer.reset();
    Bytes part = whole.slice(2, 3);
    whole = Bytes();
    EXPECT_EQ(part.view(), "234");
    EXPECT_FALSE(watched.expired());
    part = part.compact();
    EXPECT_EQ(part.view(), "234");
    EXPECT_TRUE(watched.expired());
}

TEST(Bytes, equality_is_by_content) {
    EXPECT_EQ(Bytes::copy("ab"), Bytes::own(std::string("ab")));
    EXPECT_EQ(Bytes(), Bytes::copy(""));
    EXPECT_FALSE(Bytes::copy("ab") == Bytes::copy("ac"));
    EXPECT_FALSE(Bytes::copy("ab") == Bytes::copy("abc"));
}

TEST(Slices, one_part_is_shared_and_several_are_joined) {
    const Bytes part = Bytes::copy("abc");
    Slices slices(part);
    EXPECT_EQ(slices.join().data(), part.data());
    slices.append(Bytes());
    EXPECT_EQ(slices.parts().size(), 1U) << "nothing is no part";
    slices.append(Slices(Bytes::copy("de")));
    EXPECT_EQ(slices.size(), 5U);
    EXPECT_EQ(slices.join().view(), "abcde");
}

TEST(Slices, equality_does_not_look_at_the_cuts) {
    Slices cut(Bytes::copy("ab"));
    cut.append(Bytes::copy("c"));
    EXPECT_EQ(cut, Slices(Bytes::copy("abc")));
    EXPECT_FALSE(cut == Slices(Bytes::copy("abd")));
    EXPECT_TRUE(Slices().empty());
}

}  // namespace
}  // namespace lakestream
