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

Epochs epochs() {
    return {.begins = true, .first = 7, .begun = {42, 300}};
}

TEST(GroupRecords, have_these_bytes) {
    EXPECT_EQ(
        hex(encode(group())),
        "02ac020000000005ffffffffffffffff08636f6e73756d6572010572616e676501016d02"
        "016d0101690163022f68c8df02e0a71201730161016e00000000000000"
    );
    EXPECT_EQ(
        hex(encode(offset())),
        "020103"
        "0000000000000007000000020000000000000003ffffffffffffffff"
        "000000000000000000000000000000090178"
        "0000000000000006ffffffff00000000000000000000000000000004"
        "0000000000000000000000000000000000"
    );
    EXPECT_EQ(hex(encode(epochs())), "020107022aac02");
}

TEST(GroupRecords, of_the_first_format_have_no_epoch_of_ours) {
    std::string stored(encode(group()).view());
    stored[0] = 1;
    GroupRecord expected = group();
    expected.epoch = 0;
    EXPECT_EQ(*decode_group(Bytes::copy(stored)), expected);
    stored = encode(offset()).view();
    stored[0] = 1;
    EXPECT_EQ(decode_offset(Bytes::copy(stored))->epoch, 0U);
    EXPECT_EQ(decode_offset(Bytes::copy(stored))->current, offset().current);
}

TEST(Epochs, judge_records) {
    const Epochs first = Epochs{.begins = true}.at(9);
    EXPECT_EQ(first, (Epochs{.first = 10, .begun = {10}}));
    EXPECT_FALSE(first.counts(5, 7)) << "of a group that was deleted";
    EXPECT_TRUE(first.is_of_earlier_life(5));
    EXPECT_TRUE(first.counts(10, 10));
    EXPECT_TRUE(first.counts(0, 9)) << "of the first format";
    EXPECT_FALSE(first.counts(0, 10));
    Epochs next = first;
    next.begins = true;
    next = next.at(20);
    EXPECT_EQ(next, (Epochs{.first = 10, .begun = {10, 21}}));
    EXPECT_TRUE(next.counts(10, 20));
    EXPECT_FALSE(next.counts(10, 21));
    EXPECT_TRUE(next.counts(21, 21));
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
    const Bytes stored_epochs = encode(epochs());
    EXPECT_EQ(*decode_epochs(stored_epochs), epochs());
    for (std::size_t size = 0; size < stored_epochs.size(); ++size) {
        EXPECT_TRUE(decode_epochs(stored_epochs.slice(0, size)).is(ErrorCode::corrupt)) << size;
    }
    EXPECT_TRUE(decode_group(Bytes::copy("\x03")).is(ErrorCode::unsupported));
    EXPECT_TRUE(decode_offset(Bytes::copy("\x03")).is(ErrorCode::unsupported));
    EXPECT_TRUE(decode_epochs(Bytes::copy("\x03")).is(ErrorCode::unsupported));
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
            const std::string epoch_key = keys::epoch(key);
            EXPECT_EQ(keys::offset_of(key, offset_key), offset);
            EXPECT_TRUE(keys::is_old_epoch(key, fmt::format("{}/e{:020}", key, 12)));
            EXPECT_FALSE(keys::is_old_epoch(key, epoch_key));
            EXPECT_FALSE(keys::is_old_epoch(key, offset_key));
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
