// SPDX-License-Identifier: Apache-2.0
// Variable-length integers: unsigned LEB128 (low 7 bits first, 0x80 = more follows), and zigzag,
// which folds the sign into the lowest bit so that small negative numbers stay short.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace lakestream::codec {

inline constexpr std::size_t uvarint32_bytes_max = 5;
inline constexpr std::size_t uvarint64_bytes_max = 10;

/// Bytes that the shortest encoding of `value` takes: 1 to 10.
constexpr std::size_t uvarint_size(std::uint64_t value) {
    return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

constexpr std::uint32_t zigzag(std::int32_t value) {
    return (static_cast<std::uint32_t>(value) << 1) ^ static_cast<std::uint32_t>(value >> 31);
}
constexpr std::uint64_t zigzag(std::int64_t value) {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int32_t unzigzag(std::uint32_t value) {
    return static_cast<std::int32_t>((value >> 1) ^ (0U - (value & 1)));
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
    return static_cast<std::int64_t>((value >> 1) ^ (0UL - (value & 1)));
}

}  // namespace lakestream::codec
