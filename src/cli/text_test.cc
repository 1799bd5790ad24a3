// SPDX-License-Identifier: Apache-2.0
// Numbers, times and bytes of the command line.
#include "cli/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lakestream::cli {
namespace {

TEST(Text, FilesThatCannotBeRead) {
    EXPECT_TRUE(read_file(LKS_SOURCE_DIR "/README.md")->starts_with("# Lakestream"));
    for (const char* wrong : {LKS_SOURCE_DIR, LKS_SOURCE_DIR "/README.md/x", ""}) {
        EXPECT_TRUE(read_file(wrong).is(ErrorCode::not_found)) << wrong;
    }
}

TEST(Text, Integers) {
    EXPECT_EQ(*parse_integer("0"), 0);
    EXPECT_EQ(*parse_integer("9223372036854775807"), INT64_MAX);
    for (const char* wrong : {"", "-1", "1x", " 1", "9223372036854775808"}) {
        EXPECT_FALSE(parse_integer(wrong).ok()) << wrong;
    }
}

TEST(Text, Timestamps) {
    EXPECT_EQ(*parse_timestamp("1700000000123"), 1'700'000'000'123);
    EXPECT_EQ(*parse_timestamp("1970-01-01T00:00:01Z"), 1000);
    EXPECT_EQ(*parse_timestamp("2026-07-01T12:34:56Z"), 1'782'909'296'000);
    EXPECT_EQ(*parse_timestamp("1970-01-01T00:00:00.5Z"), 500);
    EXPECT_EQ(*parse_timestamp("1970-01-01T00:00:00.123456Z"), 123);
    for (const char* wrong :
         {"",
          "yesterday",
          "2026-07-01",
          "2026-02-30T00:00:00Z",
          "2026-07-01T24:00:00Z",
          "2026-07-01T12:34:56",
          "2026-07-01T12:34:56.Z",
          "2026-07-01T12:34:56.xZ",
          "2026/07/01T12:34:56Z"}) {
        EXPECT_FALSE(parse_timestamp(wrong).ok()) << wrong;
    }
}

TEST(Text, Utf8) {
    for (const char* right : {"", "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
        EXPECT_TRUE(is_utf8(right)) << right;
    }
    for (const char* wrong :
         {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
        EXPECT_FALSE(is_utf8(wrong)) << wrong;
    }
}

TEST(Text, BytesAsJson) {
    const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
    nlohmann::json object;
    put_bytes(object, "a", bytes("text"));
    put_bytes(object, "b", bytes("\xff\x01"));
    put_bytes(object, "c", std::nullopt);
    EXPECT_EQ(object.dump(), R"({"a":"text","b_base64":"/wE=","c":null})");
}

}  // namespace
}  // namespace lakestream::cli
