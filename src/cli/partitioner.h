// SPDX-License-Identifier: Apache-2.0
// Where Kafka's Java clients put a record with a key.
#pragma once

#include <cstdint>
#include <span>

namespace lakestream::cli {

/// MurmurHash2, 32 bits, with the seed of Kafka's clients.
std::uint32_t murmur2(std::span<const std::byte> data) noexcept;

/// The partition of a key. Precondition: partitions > 0.
inline std::int32_t partition_of(std::span<const std::byte> key, std::int32_t partitions) noexcept {
    return static_cast<std::int32_t>(murmur2(key) & 0x7fff'ffffU) % partitions;
}

}  // namespace lakestream::cli
