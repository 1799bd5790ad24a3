// SPDX-License-Identifier: Apache-2.0
// What a CRC is by its definition, bit by bit, and bytes to try it on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lakestream::codec {

/// The CRC of reflected bits with this (reflected) polynomial, all ones at the begin, inverted.
inline std::uint32_t bitwise_crc(std::uint32_t polynomial, std::span<const std::byte> bytes) {
    std::uint32_t crc = 0xffffffff;
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
        }
    }
    return ~crc;
}

/// The same bytes for the same size.
inline std::vector<std::byte> noise(std::size_t size) {
    std::vector<std::byte> bytes(size);
    std::uint64_t state = size + 1;
    for (std::byte& byte : bytes) {
        state = state * 6364136223846793005 + 1442695040888963407;
        byte = static_cast<std::byte>(state >> 56);
    }
    return bytes;
}

}  // namespace lakestream::codec
