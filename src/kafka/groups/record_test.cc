// SPDX-License-Identifier: Apache-2.0
// The stored form of groups: fixed bytes, round trips, cuts, and keys of strange names.
#include "kafka/groups/record.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "kafka/groups/keys.h"
#include "meta/key_order.h"

namespace lakestream::kafka::groups {
namespace {

std::string hex(const Bytes& bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        text += fmt::format("{:02x}", static_cast<unsigned>(byte));
    }
    return text;
}

GroupRecord group() {
    return {
        .epoch = 300,
        .generation = 5,
        .empty_since = wall_from_ms(-1),
        .protocol_type = "consumer",
        .protocol_name = "range",
        .leader = "m",
        .members =
            {{.id = "m",
              .instance_id = "i",
              .client_id = "c",
              .client_host = "/h",
              .session_timeout = 45s,
              .rebalance_timeout = 5min,
              .subscription = Bytes::copy("s"),
              .assignment = Bytes::copy("a")},
             {.id = "n"}},
    };
}

OffsetRecord offset() {
    OffsetRecord record{
        .epoch = 1,
        .current =
            Committed{.offset = 7, .leader_epoch = 2, .at = wall_from_ms(3), .metadata = "x"},
        .previous = Committed{.offset = 6, .expires = wall_from_ms(4)},
    };
    record.current->topic_id[15] = std::byte{9};
    return record;
}

TEST(GroupRecords, have_these_bytes) {
    EXPECT_EQ(
        hex(encode(group())),
        "01ac020000000005ffffffffffffffff08636f6e73756d6572010572616e676501016d02"
        "016d0101690163022f68c8df02e0a71201730161016e00000000000000"
    );
    EXPECT_EQ(
        hex(encode(offset())),
        "010103"
        "0000000000000007000000020000000000000003ffffffffffffffff"
        "000000000000000000000000000000090178"
        "0000000000000006ffffffff00000000000000000000000000000004"
        "0000000000000000000000000000000000"
    );
}

TEST(GroupRecords, are_read_as_they_were_written_and_no_prefix_is) {
    const Bytes stored_group = encode(group());
    EXPECT_EQ(*decode_group(stored_group), group());
    for (std::size_t size = 0; size < stored_group.size(); ++size) {
        EXPECT_TRUE(decode_group(stored_group.slice(0, size)).is(ErrorCode::corrupt)) << size;
    }
    const Bytes stored_offset = encode(offset());
    EXPECT_EQ(*decode_offset(stored_offset), offset());
    for (std::size_t size = 0; size < stored_offset.size(); ++size) {
        EXPECT_TRUE(decode_offset(stored_offset.slice(0, size)).is(ErrorCode::corrupt)) << size;
    }
    EXPECT_TRUE(decode_group(Bytes::copy("\x02")).is(ErrorCode::unsupported));
    EXPECT_TRUE(decode_offset(Bytes::copy("\x02")).is(ErrorCode::unsupported));
}

TEST(GroupKeys, name_every_group_and_offset_and_are_found_in_their_range) {
    const std::string ids[] = {"", "a", "a/b", "%", "%41", "ä\n", std::string("\0", 1), "A-_.9"};
    for (const meta::KeyOrder order : {meta::KeyOrder::hierarchical, meta::KeyOrder::natural}) {
        for (const std::string& id : ids) {
            const std::string key = keys::group(id);
            EXPECT_EQ(keys::group_id(key), id);
            const meta::Range all = keys::all_groups(order);
            const meta::Range own = keys::of_group(order, key);
            const auto inside = [&](const meta::Range& range, const std::string& k) {
                return compare_keys(order, range.begin, k) <= 0 &&
                       compare_keys(order, k, range.end) < 0;
            };
            EXPECT_TRUE(inside(all, key)) << key;
            EXPECT_FALSE(inside(own, key)) << key;
            const OffsetKey offset{.topic = "t.-_", .partition = 12};
            const std::string offset_key = keys::offset(key, offset);
            const std::string epoch_key = keys::epoch(key, 12);
            EXPECT_EQ(keys::offset_of(key, offset_key), offset);
            EXPECT_EQ(keys::epoch_of(key, epoch_key), 12U);
            EXPECT_FALSE(keys::epoch_of(key, offset_key).has_value());
            EXPECT_FALSE(keys::offset_of(key, epoch_key).has_value());
            EXPECT_FALSE(keys::group_id(offset_key).has_value());
            EXPECT_TRUE(inside(own, offset_key));
            EXPECT_TRUE(inside(own, epoch_key));
            EXPECT_TRUE(compare_keys(order, offset_key, epoch_key) < 0) << "offsets come first";
        }
    }
    EXPECT_FALSE(keys::group_id("/lks/group/a%4").has_value());
    EXPECT_FALSE(keys::group_id("/lks/groups/a").has_value());
}

TEST(GroupRecords, subscriptions_of_consumers) {
    const Bytes two = Bytes::copy(std::string_view("\0\1\0\0\0\2\0\1a\0\2bc\xff\xff\xff\xff", 17));
    EXPECT_EQ(subscribed_topics(two), (std::vector<std::string>{"a", "bc"}));
    EXPECT_FALSE(subscribed_topics(two.slice(0, 10)).has_value());
    EXPECT_FALSE(subscribed_topics(Bytes()).has_value());
    EXPECT_FALSE(subscribed_topics(Bytes::copy("hello, world")).has_value());
}

}  // namespace
}  // namespace lakestream::kafka::groups
