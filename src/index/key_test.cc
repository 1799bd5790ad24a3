// SPDX-License-Identifier: Apache-2.0
// Index keys and the bounds of look-ups against golden text.
#include "index/key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "codec/testing/golden.h"

namespace lakestream::index {
namespace {

using nlohmann::json;

constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max();

TEST(IndexKey, golden_keys_and_bounds) {
    for (const json& expected : codec::golden_json("from-java/index/keys.json")) {
        const IndexKey key{
            LogId(expected.at("stream_id").get<std::int64_t>()),
            Offset(expected.at("end_offset").get<std::int64_t>()),
            expected.at("cumulative_size").get<std::int64_t>(),
        };
        const std::string text = expected.at("key");
        EXPECT_EQ(key.to_string(), text);
        EXPECT_EQ(parse_key(key.log, text).value(), key);
        EXPECT_TRUE(text.starts_with(sequence_prefix(key.log)));
        EXPECT_EQ(bound_first(key.log), expected.at("smallest").get<std::string>());
        EXPECT_EQ(bound_last(key.log), expected.at("largest").get<std::string>());
        EXPECT_EQ(
            bound_after(key.log, key.end), expected.at("largest_at_offset").get<std::string>()
        );
        // A look-up at a log's end can meet its neighbour.
        EXPECT_EQ(parse_key(LogId(key.log.v ^ 1), text).code(), ErrorCode::corrupt);
    }
}

TEST(IndexKey, text_of_another_form_is_no_key) {
    for (const char* text :
         {"",
          "00000000000000000001-00000000000000000002",
          "0000000000000000000x-00000000000000000002-00000000000000000003",
          "00000000000000000001-00000000000000000002-00000000000000000003-",
          "00000000000000000001/00000000000000000002-00000000000000000003",
          "-0000000000000000001-00000000000000000002-00000000000000000003",
          "-0000000000000000000-00000000000000000002-00000000000000000003",
          "00000000000000000001-00000000000000000002-09223372036854775808"}) {
        EXPECT_EQ(parse_key(text).code(), ErrorCode::corrupt) << text;
    }
}

// The bounds' promises, by comparing text: the metadata store orders keys of one depth bytewise.
TEST(IndexKey, bounds_split_a_log_at_an_offset) {
    const LogId log(7);
    const std::vector<std::string> keys = {
        IndexKey{LogId(6), Offset(max), max}.to_string(),
        IndexKey{log, Offset(10), 100}.to_string(),
        IndexKey{log, Offset(20), max}.to_string(),
        IndexKey{log, Offset(21), 100}.to_string(),
        IndexKey{LogId(8), Offset(1), 0}.to_string(),
    };
    ASSERT_TRUE(std::ranges::is_sorted(keys));
    const auto first_above = [&](const std::string& bound) {
        return std::ranges::upper_bound(keys, bound) - keys.begin();
    };
    EXPECT_EQ(first_above(bound_first(log)), 1);
    EXPECT_EQ(first_above(bound_after(log, Offset(9))), 1);
    EXPECT_EQ(first_above(bound_after(log, Offset(10))), 2);
    EXPECT_EQ(first_above(bound_after(log, Offset(20))), 3);
    EXPECT_EQ(first_above(bound_last(log)), 4);
}

TEST(IndexKey, mark_is_decimal_text) {
    EXPECT_EQ(parse_mark(Bytes::copy("120")).value(), Offset(120));
    for (const char* text : {"", "-1", "-0", "1 ", "9223372036854775808", "x"}) {
        EXPECT_EQ(parse_mark(Bytes::copy(text)).code(), ErrorCode::corrupt) << text;
    }
}

}  // namespace
}  // namespace lakestream::index
