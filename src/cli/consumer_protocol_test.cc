// SPDX-License-Identifier: Apache-2.0
// Subscriptions, assignments, and who gets which partitions.
#include "cli/consumer_protocol.h"

#include <gtest/gtest.h>

namespace lakestream::cli {
namespace {

TEST(ConsumerProtocol, ReadsWhatItWrites) {
    const std::vector<std::string> topics = {"a", "", "orders"};
    EXPECT_EQ(decode_subscription(encode_subscription(topics)).value(), topics);
    const Assignment assignment = {{"a", {0, 5}}, {"b", {}}};
    EXPECT_EQ(decode_assignment(encode_assignment(assignment)).value(), assignment);
    EXPECT_TRUE(decode_assignment({}).value().empty());
}

TEST(ConsumerProtocol, BytesAreThoseOfKafka) {
    const Bytes bytes = encode_assignment({{"t", {1}}});
    constexpr std::string_view expected("\0\0\0\0\0\1\0\1t\0\0\0\1\0\0\0\1\xff\xff\xff\xff", 21);
    EXPECT_EQ(bytes.view(), expected);
}

TEST(ConsumerProtocol, RefusesWhatIsCutShort) {
    const Bytes whole = encode_assignment({{"topic", {1, 2, 3}}});
    for (std::size_t size = 1; size + 4 < whole.size(); ++size) {  // user data may be missing
        EXPECT_TRUE(decode_assignment(whole.slice(0, size)).is(ErrorCode::corrupt)) << size;
    }
    const Bytes claim = Bytes::copy(std::string_view("\0\0\x7f\xff\xff\xff", 6));
    EXPECT_TRUE(decode_assignment(claim).is(ErrorCode::corrupt));
    EXPECT_TRUE(decode_subscription(claim).is(ErrorCode::corrupt));
}

TEST(AssignRanges, GivesEachPartitionOnceAndRunsThatDifferByOne) {
    for (std::int32_t partitions = 0; partitions < 20; ++partitions) {
        for (int count = 1; count < 8; ++count) {
            std::vector<std::string> members;
            for (int i = count; i > 0; --i) {
                members.push_back("m" + std::to_string(i));
            }
            std::vector<std::int32_t> all;
            std::size_t least = 100;
            std::size_t most = 0;
            for (const auto& [member, mine] : assign_ranges(members, partitions)) {
                all.insert(all.end(), mine.begin(), mine.end());
                least = std::min(least, mine.size());
                most = std::max(most, mine.size());
            }
            ASSERT_EQ(all.size(), static_cast<std::size_t>(partitions));
            for (std::size_t i = 0; i < all.size(); ++i) {
                EXPECT_EQ(all[i], static_cast<std::int32_t>(i));
            }
            EXPECT_LE(most - least, 1);
        }
    }
}

}  // namespace
}  // namespace lakestream::cli
