// SPDX-License-Identifier: Apache-2.0
// Records as text and JSON: what is written is what was there, and reads back the same.
#include "cli/record_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lakestream::cli {
namespace {

using nlohmann::json;

codec::NullableBytes bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string json_line(const codec::Record& record) {
    std::string out;
    append_json(out, {.topic = "t\"1", .partition = 3, .offset = Offset(1LL << 40)}, record);
    EXPECT_TRUE(out.ends_with("}\n"));
    EXPECT_EQ(out.find('\n'), out.size() - 1);
    return out;
}

TEST(RecordText, TextIsTheValueAndTheKeyWhenAsked) {
    std::string out;
    append_text(out, {.key = bytes("k"), .value = bytes("v")}, true);
    append_text(out, {.key = bytes("k"), .value = bytes("v")}, false);
    append_text(out, {.key = std::nullopt, .value = std::nullopt}, true);
    EXPECT_EQ(out, "k\tv\nv\n\t\n");
}

TEST(RecordText, JsonHasEverything) {
    codec::Record record{.timestamp = 17, .key = bytes(""), .value = std::nullopt};
    record.headers.push_back({.key = "h", .value = bytes("x")});
    record.headers.push_back({.key = "n", .value = std::nullopt});
    EXPECT_EQ(
        json_line(record),
        "{\"topic\":\"t\\\"1\",\"partition\":3,\"offset\":1099511627776,\"timestamp\":17,"
        "\"key\":\"\",\"value\":null,\"headers\":[{\"key\":\"h\",\"value\":\"x\"},"
        "{\"key\":\"n\",\"value\":null}]}\n"
    );
}

TEST(RecordText, JsonReadsBackForAllBytes) {
    std::vector<std::string> values = {"", "\xc3\xa4\xf0\x9f\x8c\x8a", "a\"b\\c\n\r\t\x01\x1f\x7f"};
    for (int byte = 0; byte < 256; ++byte) {
        values.push_back(std::string(1, static_cast<char>(byte)));
        values.push_back("text" + std::string(1, static_cast<char>(byte)) + "text");
    }
    for (const std::string& value : values) {
        codec::Record record{.timestamp = 1, .key = std::nullopt, .value = bytes(value)};
        record.headers.push_back({.key = "h", .value = bytes(value)});
        const std::string line = json_line(record);
        EXPECT_FALSE(json::parse(line, nullptr, false).is_discarded()) << line;
        const auto read = parse_json_record(line);
        ASSERT_TRUE(read.ok()) << line;
        EXPECT_EQ(read->value, value);
        EXPECT_EQ(read->key, std::nullopt);
        EXPECT_EQ(read->partition, 3);
        EXPECT_EQ(read->timestamp, 1);
        ASSERT_EQ(read->headers.size(), 1);
        EXPECT_EQ(read->headers[0].second, value);
    }
}

TEST(RecordText, ReadsWhatPeopleWrite) {
    const auto number = parse_json_record(R"({"value": {"a": 1}, "key": 7})");
    ASSERT_TRUE(number.ok());
    EXPECT_EQ(number->value, R"({"a":1})");
    EXPECT_EQ(number->key, "7");
    const auto tombstone = parse_json_record(R"({"key":"k","value":null})");
    ASSERT_TRUE(tombstone.ok());
    EXPECT_EQ(tombstone->value, std::nullopt);
}

TEST(RecordText, RefusesWhatIsNoRecord) {
    for (const std::string_view wrong :
         {"",
          "x",
          "[]",
          "{}",
          "7",
          R"({"key":"k"})",
          R"({"value":"v","partition":"x"})",
          R"({"value":"v","headers":{}})",
          R"({"value":"v","headers":[1]})",
          R"({"value_base64":"?"})",
          R"({"value_base64":7})",
          R"({"value":"v","timestamp":1.5})",
          R"({"value":"v")"}) {
        EXPECT_TRUE(parse_json_record(wrong).is(ErrorCode::invalid_argument)) << wrong;
    }
}

}  // namespace
}  // namespace lakestream::cli
