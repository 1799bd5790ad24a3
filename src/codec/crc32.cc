// SPDX-License-Identifier: Apache-2.0
// CRC-32 by carry-less multiplication, 64 bytes at a time; what is left, by zlib.
//
// The CRC of a message is that of any shorter one which leaves the same remainder. Of two 16-byte
// blocks, the first times x^(distance in bits) may be added to the second; so four lanes are folded
// forward over the message, then into one, and 16 bytes remain (Gopal et al., "Fast CRC Computation
// for Generic Polynomials Using PCLMULQDQ").
#include "codec/crc32.h"

#include <immintrin.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace lakestream::codec {

namespace {

std::uint32_t crc32_zlib(std::span<const std::byte> bytes, std::uint32_t seed) {
    uLong crc = seed;
    while (!bytes.empty()) {
        const std::size_t count =
            std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
        crc = ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(count));
        bytes = bytes.subspan(count);
    }
    return static_cast<std::uint32_t>(crc);
}

constexpr std::size_t lane_bytes = 16;
constexpr std::size_t fold_bytes = 4 * lane_bytes;

/// x^n modulo the polynomial, bits reflected, as the multiplication wants it: times x.
constexpr std::uint64_t power_of_x(unsigned n) {
    constexpr std::uint32_t polynomial = 0xedb88320;
    std::uint32_t power = 0x80000000;  // x^0
    for (; n > 0; --n) {
        power = (power >> 1) ^ ((power & 1) != 0 ? polynomial : 0);
    }
    return std::uint64_t{power} << 1;
}

/// What moves a lane forward by so many bytes: its low half, then its high half.
struct Factors {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

constexpr Factors factors_of(unsigned bytes) {
    return {power_of_x(8 * bytes + 32), power_of_x(8 * bytes - 32)};
}

__attribute__((target("pclmul"))) __m128i load(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

/// `next` plus `lane` times the factors.
__attribute__((target("pclmul"))) __m128i fold(__m128i lane, __m128i by, __m128i next) {
    const __m128i low = _mm_clmulepi64_si128(lane, by, 0x00);
    const __m128i high = _mm_clmulepi64_si128(lane, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

__attribute__((target("pclmul"))) __m128i load(const Factors& by) {
    return _mm_set_epi64x(static_cast<long long>(by.high), static_cast<long long>(by.low));
}

/// Precondition: at least fold_bytes.
__attribute__((target("pclmul"))) std::uint32_t crc32_folded(
    std::span<const std::byte> bytes, std::uint32_t seed
) {
    constexpr Factors by_four = factors_of(fold_bytes);
    constexpr Factors by_one = factors_of(lane_bytes);
    const __m128i four = load(by_four);
    std::array<__m128i, 4> lanes;  // NOLINT: filled below
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        lanes[i] = load(bytes.data() + i * lane_bytes);
    }
    lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(~seed)));
    for (bytes = bytes.subspan(fold_bytes); bytes.size() >= fold_bytes;
         bytes = bytes.subspan(fold_bytes)) {
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            lanes[i] = fold(lanes[i], four, load(bytes.data() + i * lane_bytes));
        }
    }
    __m128i all = lanes[0];
    for (std::size_t i = 1; i < lanes.size(); ++i) {
        all = fold(all, load(by_one), lanes[i]);
    }
    std::array<std::byte, lane_bytes> rest{};
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rest.data()), all);
    // Nothing is in front of them any more: a CRC begins and ends inverted.
    return crc32_zlib(bytes, crc32_zlib(rest, 0xffffffff));
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
    static const bool multiplies = __builtin_cpu_supports("pclmul") != 0;
    return multiplies && bytes.size() >= fold_bytes ? crc32_folded(bytes, seed)
                                                    : crc32_zlib(bytes, seed);
}

}  // namespace lakestream::codec
