// SPDX-License-Identifier: Apache-2.0
// Hashing keys to shards.
#include "meta/shard_router.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace lakestream::meta {

namespace {

constexpr std::uint64_t shard_width(std::size_t count) noexcept {
    return UINT32_MAX / count + 1;
}

}  // namespace

std::uint32_t key_hash(std::string_view key) noexcept {
    return static_cast<std::uint32_t>(XXH3_64bits(key.data(), key.size()));
}

std::uint32_t shard_hash_begin(std::size_t index, std::size_t count) noexcept {
    return static_cast<std::uint32_t>(index * shard_width(count));
}

ShardId route(std::string_view partition_key, std::size_t count) noexcept {
    return ShardId(static_cast<std::int64_t>(key_hash(partition_key) / shard_width(count)));
}

}  // namespace lakestream::meta
