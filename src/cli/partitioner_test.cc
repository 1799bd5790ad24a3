// SPDX-License-Identifier: Apache-2.0
// Keys go where Kafka's clients put them: values of Kafka's own tests.
#include "cli/partitioner.h"

#include <gtest/gtest.h>

#include <string_view>

namespace lakestream::cli {
namespace {

std::int32_t hash(std::string_view text) {
    return static_cast<std::int32_t>(murmur2(std::as_bytes(std::span(text))));
}

TEST(Murmur2, KafkasVectors) {
    EXPECT_EQ(hash("21"), -973932308);
    EXPECT_EQ(hash("foobar"), -790332482);
    EXPECT_EQ(hash("a-little-bit-long-string"), -985981536);
    EXPECT_EQ(hash("a-little-bit-longer-string"), -1486304829);
    EXPECT_EQ(hash("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8"), -58897971);
    EXPECT_EQ(hash("abc"), 479470107);
}

TEST(Partitioner, StaysInRange) {
    const std::string_view key = "21";
    EXPECT_EQ(partition_of(std::as_bytes(std::span(key)), 1), 0);
    EXPECT_EQ(
        partition_of(std::as_bytes(std::span(key)), 1000),
        static_cast<std::int32_t>((static_cast<std::uint32_t>(-973932308) & 0x7fffffffU) % 1000)
    );
}

}  // namespace
}  // namespace lakestream::cli
