// SPDX-License-Identifier: Apache-2.0
// The order of keys, and that encoded keys keep it.
#include "meta/key_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rt/rng.h"

namespace lakestream::meta {
namespace {

// As a server of version 0.14.0 lists them.
const std::vector<std::string> hierarchical_sample{
    "",         "a",          "b",    "b-1",    "zz",     "~",     "\xc3\xa9",
    "/",        "/a",         "/a-1", "/b",     "//",     "/a/",   "/a/b-00000000000000000005",
    "/a/x",     "/a/y",       "/a//", "/a/x/1", "/a/x//", "/ab/x", "/b/c",
    "/topic/1", "/topic-2/1", "a/",   "a/b/c",  "b/c",    "x/y",   "x//"
};

TEST(KeyOrder, HierarchicalSampleAscends) {
    for (std::size_t i = 0; i < hierarchical_sample.size(); ++i) {
        for (std::size_t j = 0; j < hierarchical_sample.size(); ++j) {
            EXPECT_EQ(
                compare_keys(
                    KeyOrder::hierarchical, hierarchical_sample[i], hierarchical_sample[j]
                ),
                i <=> j
            ) << hierarchical_sample[i]
              << " and " << hierarchical_sample[j];
        }
    }
}

TEST(KeyOrder, NaturalIsBytes) {
    EXPECT_TRUE(compare_keys(KeyOrder::natural, "/a/x", "/b") < 0);
    EXPECT_TRUE(compare_keys(KeyOrder::natural, "a/b/c", "b/c") < 0);
    EXPECT_TRUE(compare_keys(KeyOrder::natural, "~", "\xc3\xa9") < 0);
    EXPECT_EQ(encode_key(KeyOrder::natural, "/a/x"), "/a/x");
}

TEST(KeyOrder, EncodingIsAsDocumented) {
    const std::string expected(
        "\x01\x01"
        "a\x00x",
        5
    );
    EXPECT_EQ(encode_key(KeyOrder::hierarchical, "/a/x"), expected);
    EXPECT_EQ(encode_key(KeyOrder::hierarchical, ""), std::string(1, '\0'));
}

TEST(KeyOrder, EncodedKeysCompareAsKeysAndDecodeBack) {
    // Every pair of keys of up to five characters over an alphabet of troublemakers.
    const std::string alphabet("a/\x00\x01\x02\x03", 6);
    std::vector<std::string> keys{""};
    for (std::size_t begin = 0, length = 1; length <= 4; ++length) {
        const std::size_t end = keys.size();
        for (std::size_t i = begin; i < end; ++i) {
            for (const char c : alphabet) {
                keys.push_back(keys[i] + c);
            }
        }
        begin = end;
    }
    std::vector<std::string> encoded;
    for (const std::string& key : keys) {
        encoded.push_back(encode_key(KeyOrder::hierarchical, key));
        EXPECT_EQ(decode_key(KeyOrder::hierarchical, encoded.back()), key);
    }
    rt::Rng rng(1);
    for (int i = 0; i < 300'000; ++i) {
        const std::size_t a = rng.below(keys.size());
        const std::size_t b = rng.below(keys.size());
        ASSERT_EQ(
            compare_keys(KeyOrder::hierarchical, keys[a], keys[b]), encoded[a] <=> encoded[b]
        );
    }
}

TEST(KeyOrder, RefusesWhatItDidNotWrite) {
    for (const std::string& bytes : {
             std::string(),  // no segment
             std::string(
                 "\x01"
                 "a",
                 2
             ),                            // the last segment is missing
             std::string("\x00\x00", 2),   // a segment after the last
             std::string("\x00\x02", 2),   // half an escape
             std::string("\x00\x02z", 3),  // an escape of nothing
             std::string("a"),             // no first byte
             std::string("\x00/", 2),      // a slash that is no boundary
             std::string("\xa7", 1),       // nor this, though it is negative as a char
             std::string("\xfe"),          // nor this
         }) {
        EXPECT_TRUE(decode_key(KeyOrder::hierarchical, bytes).is(ErrorCode::corrupt));
    }
}

}  // namespace
}  // namespace lakestream::meta
