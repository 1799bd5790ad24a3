// SPDX-License-Identifier: Apache-2.0
// Hash and shard vectors of the servers (conformance case 27).
#include "meta/shard_router.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lakestream::meta {
namespace {

struct Vector {
    std::string key;
    std::uint32_t hash;
    std::vector<std::int64_t> shard_of_2_3_4_10;
};

TEST(ShardRouter, Case27HashesAndShards) {
    const std::vector<Vector> vectors{
        {"", 953390274, {0, 0, 0, 2}},
        {"a", 513166879, {0, 0, 0, 1}},
        {"d", 3385305034, {1, 2, 3, 7}},
        {"f", 2683550362, {1, 1, 2, 6}},
        {"x", 2159201553, {1, 1, 2, 5}},
        {"foo", 125730186, {0, 0, 0, 0}},
        {"bar", 2687685474, {1, 1, 2, 6}},
        {"baz", 862947621, {0, 0, 0, 2}},
        {"/", 847599150, {0, 0, 0, 1}},
        {"/a/b", 973649257, {0, 0, 0, 2}},
        {"\xc3\xa9", 1827736755, {0, 1, 1, 4}},
        {std::string(128, 'a'), 2915292012, {1, 2, 2, 6}},
        {std::string(129, 'a'), 130787163, {0, 0, 0, 0}},
        {std::string(241, 'b'), 2411174519, {1, 1, 2, 5}},
        {std::string(1024, 'c'), 3447803460, {1, 2, 3, 8}},
    };
    const std::vector<std::size_t> counts{2, 3, 4, 10};
    for (const Vector& vector : vectors) {
        EXPECT_EQ(key_hash(vector.key), vector.hash) << vector.key;
        EXPECT_EQ(route(vector.key, 1), ShardId(0));
        for (std::size_t i = 0; i < counts.size(); ++i) {
            EXPECT_EQ(route(vector.key, counts[i]), ShardId(vector.shard_of_2_3_4_10[i]))
                << vector.key << " among " << counts[i];
        }
    }
}

TEST(ShardRouter, Case27RangesOfHashes) {
    EXPECT_EQ(shard_hash_begin(0, 1), 0U);
    EXPECT_EQ(shard_hash_begin(1, 2), 2147483648U);
    EXPECT_EQ(shard_hash_begin(1, 3), 1431655766U);
    EXPECT_EQ(shard_hash_begin(2, 3), 2863311532U);
    EXPECT_EQ(shard_hash_begin(6, 7), 3681400542U);
    EXPECT_EQ(shard_hash_begin(9, 10), 3865470570U);
}

}  // namespace
}  // namespace lakestream::meta
