// SPDX-License-Identifier: Apache-2.0
// Which shard a key lives on: equal ranges of a 32-bit hash, as the servers cut them at first.
#pragma once

#include <cstdint>
#include <string_view>

#include "meta/metadata_store.h"

namespace lakestream::meta {

/// The low 32 bits of XXH3-64 with seed 0.
std::uint32_t key_hash(std::string_view key) noexcept;

/// The first hash of shard `index` of `count`; the shard ends where the next one begins, the last
/// one at 2^32-1.
std::uint32_t shard_hash_begin(std::size_t index, std::size_t count) noexcept;

/// The shard of a partition key among shards 0 to `count` - 1. Precondition: count > 0.
ShardId route(std::string_view partition_key, std::size_t count) noexcept;

}  // namespace lakestream::meta
