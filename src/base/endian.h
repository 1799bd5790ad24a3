// SPDX-License-Identifier: Apache-2.0
// Fixed-size integers in the byte order of the wire.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace lakestream {

/// Read a big-endian integer. Precondition: sizeof(T) bytes at `from`.
template <std::integral T>
T load_be(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return std::endian::native == std::endian::little ? std::byteswap(value) : value;
}

/// Write a big-endian integer. Precondition: room for sizeof(T) bytes at `to`.
template <std::integral T>
void store_be(std::byte* to, T value) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        value = std::byteswap(value);
    }
    std::memcpy(to, &value, sizeof(T));
}

/// Read a little-endian integer. Precondition: sizeof(T) bytes at `from`.
template <std::integral T>
T load_le(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return std::endian::native == std::endian::big ? std::byteswap(value) : value;
}

/// Write a little-endian integer. Precondition: room for sizeof(T) bytes at `to`.
template <std::integral T>
void store_le(std::byte* to, T value) noexcept {
    if constexpr (std::endian::native == std::endian::big) {
        value = std::byteswap(value);
    }
    std::memcpy(to, &value, sizeof(T));
}

}  // namespace lakestream
