// SPDX-License-Identifier: Apache-2.0
// MurmurHash2.
#include "cli/partitioner.h"

#include "base/endian.h"

namespace lakestream::cli {

std::uint32_t murmur2(std::span<const std::byte> data) noexcept {
    constexpr std::uint32_t m = 0x5bd1e995;
    constexpr unsigned r = 24;
    std::uint32_t h = 0x9747b28cU ^ static_cast<std::uint32_t>(data.size());
    for (; data.size() >= 4; data = data.subspan(4)) {
        std::uint32_t k = load_le<std::uint32_t>(data.data()) * m;
        k = (k ^ (k >> r)) * m;
        h = (h * m) ^ k;
    }
    for (std::size_t i = data.size(); i > 0; --i) {
        h ^= std::to_integer<std::uint32_t>(data[i - 1]) << (8 * (i - 1));
    }
    if (!data.empty()) {
        h *= m;
    }
    h = (h ^ (h >> 13)) * m;
    return h ^ (h >> 15);
}

}  // namespace lakestream::cli
