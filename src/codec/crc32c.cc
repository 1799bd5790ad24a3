// SPDX-License-Identifier: Apache-2.0
// CRC-32C by the SSE4.2 instruction, three streams at a time, or by a table.
//
// A CRC is a polynomial over GF(2) modulo `polynomial`; bit 31 is the coefficient of x^0. Appending
// n zero bytes multiplies it by x^(8n), which is how streams computed side by side are joined.
#include "codec/crc32c.h"

#include <array>

#include "base/endian.h"

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#endif

namespace lakestream::codec {

namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;
constexpr std::uint32_t one = 0x80000000;  // x^0

// Without branches: no processor predicts these bits.
constexpr std::uint32_t times_x(std::uint32_t a) {
    return (a >> 1) ^ (polynomial & (0U - (a & 1)));
}

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (int bit = 31; bit >= 0; --bit) {
        product ^= b & (0U - ((a >> bit) & 1));
        b = times_x(b);
    }
    return product;
}

/// x^(2^i), for i in 0 .. 63.
constexpr std::array<std::uint32_t, 64> squares = [] {
    std::array<std::uint32_t, 64> powers{times_x(one)};
    for (std::size_t i = 1; i < powers.size(); ++i) {
        powers[i] = multiply(powers[i - 1], powers[i - 1]);
    }
    return powers;
}();

/// x^(8 * bytes): what appending that many zero bytes multiplies by.
constexpr std::uint32_t shift_by(std::uint64_t bytes) {
    std::uint32_t product = one;
    for (std::size_t i = 3; bytes != 0; bytes >>= 1, ++i) {
        product = (bytes & 1) != 0 ? multiply(product, squares[i]) : product;
    }
    return product;
}

/// The CRC of each byte value, alone.
constexpr std::array<std::uint32_t, 256> byte_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t value = 0; value < table.size(); ++value) {
        std::uint32_t crc = value;
        for (int bit = 0; bit < 8; ++bit) {
            crc = times_x(crc);
        }
        table[value] = crc;
    }
    return table;
}();

#if defined(__SSE4_2__)

/// Multiplication by one constant, four look-ups each.
template <std::size_t zero_bytes>
struct Shift {
    static constexpr std::array<std::array<std::uint32_t, 256>, 4> table = [] {
        std::array<std::array<std::uint32_t, 256>, 4> all{};
        for (std::uint32_t place = 0; place < 4; ++place) {
            // Linear: a value's product is that of its lowest bit and that of the rest.
            for (std::uint32_t value = 1; value < 256; ++value) {
                const std::uint32_t rest = value & (value - 1);
                all[place][value] = rest != 0
                                        ? all[place][rest] ^ all[place][value ^ rest]
                                        : multiply(value << (8 * place), shift_by(zero_bytes));
            }
        }
        return all;
    }();

    static std::uint32_t apply(std::uint64_t crc) {
        return table[0][crc & 0xff] ^ table[1][(crc >> 8) & 0xff] ^ table[2][(crc >> 16) & 0xff] ^
               table[3][(crc >> 24) & 0xff];
    }
};

/// Consume groups of three blocks while there are any. The instruction takes one word per cycle but
/// answers after three, so three independent streams keep it busy.
template <std::size_t block>
std::uint64_t crc_blocks(std::uint64_t crc, std::span<const std::byte>& bytes) {
    static_assert(block % 8 == 0);
    while (bytes.size() >= 3 * block) {
        const std::byte* const at = bytes.data();
        std::uint64_t second = 0;
        std::uint64_t third = 0;
        for (std::size_t i = 0; i < block; i += 8) {
            crc = _mm_crc32_u64(crc, load_le<std::uint64_t>(at + i));
            second = _mm_crc32_u64(second, load_le<std::uint64_t>(at + block + i));
            third = _mm_crc32_u64(third, load_le<std::uint64_t>(at + 2 * block + i));
        }
        crc = Shift<block>::apply(crc) ^ second;
        crc = Shift<block>::apply(crc) ^ third;
        bytes = bytes.subspan(3 * block);
    }
    return crc;
}

#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
    std::uint32_t crc = ~seed;
    for (const std::byte byte : bytes) {
        crc = (crc >> 8) ^ byte_table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
    }
    return ~crc;
}

#if defined(__SSE4_2__)

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
    std::uint64_t crc = static_cast<std::uint32_t>(~seed);
    crc = crc_blocks<4096>(crc, bytes);
    crc = crc_blocks<256>(crc, bytes);
    while (bytes.size() >= 8) {
        crc = _mm_crc32_u64(crc, load_le<std::uint64_t>(bytes.data()));
        bytes = bytes.subspan(8);
    }
    auto last = static_cast<std::uint32_t>(crc);
    for (const std::byte byte : bytes) {
        last = _mm_crc32_u8(last, std::to_integer<std::uint8_t>(byte));
    }
    return ~last;
}

#else

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
    return crc32c_portable(bytes, seed);
}

#endif

std::uint32_t crc32c_combine(
    std::uint32_t first, std::uint32_t second, std::uint64_t second_size
) noexcept {
    return multiply(shift_by(second_size), first) ^ second;
}

}  // namespace lakestream::codec
