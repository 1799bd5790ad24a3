// SPDX-License-Identifier: Apache-2.0
// Rng: the only source of chance, UUIDs and temporary names included.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assert.h"

namespace lakestream::rt {

/// xoshiro256**, seeded through splitmix64. Same seed, same numbers, on every platform. Not
/// thread-safe: each executor has its own. Not for secrets.
class Rng {
  public:
    explicit Rng(std::uint64_t seed) {
        for (std::uint64_t& word : state_) {
            seed += 0x9e3779b97f4a7c15;
            std::uint64_t z = seed;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
            z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
            word = z ^ (z >> 31);
        }
    }

    explicit Rng(const std::array<std::uint64_t, 4>& state) : state_(state) {}

    std::uint64_t next() {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    /// A number in [0, bound). Precondition: bound > 0. The bias is below bound / 2^64.
    std::uint64_t below(std::uint64_t bound) {
        LKS_ASSERT(bound > 0);
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
    }

    /// A number in [low, high].
    std::uint64_t between(std::uint64_t low, std::uint64_t high) {
        return low + below(high - low + 1);
    }

    /// True numerator times in denominator: probabilities are ratios, never floating point.
    bool chance(std::uint64_t numerator, std::uint64_t denominator) {
        return below(denominator) < numerator;
    }

    /// 16 bytes: the raw material of a version 4 UUID.
    std::array<std::byte, 16> bytes16() {
        const std::array<std::uint64_t, 2> words{next(), next()};
        std::array<std::byte, 16> out;
        std::memcpy(out.data(), words.data(), out.size());
        return out;
    }

  private:
    std::array<std::uint64_t, 4> state_{};
};

}  // namespace lakestream::rt
