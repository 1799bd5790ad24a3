// SPDX-License-Identifier: Apache-2.0
// CRC-32C against published vectors and against the definition, bit by bit.
#include "codec/crc32c.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "codec/testing/bitwise_crc.h"

namespace lakestream::codec {
namespace {

std::uint32_t bitwise(std::span<const std::byte> bytes) {
    return bitwise_crc(0x82f63b78, bytes);
}

struct Vector {
    std::vector<std::byte> bytes;
    std::uint32_t crc;
};

std::vector<Vector> published() {
    std::vector<Vector> vectors;
    const std::string_view digits = "123456789";
    const auto view = std::as_bytes(std::span(digits));
    vectors.push_back({{view.begin(), view.end()}, 0xe3069283});
    vectors.push_back({{}, 0});
    vectors.push_back({std::vector(32, std::byte{0}), 0x8a9136aa});
    vectors.push_back({std::vector(32, std::byte{0xff}), 0x62a8ab43});
    std::vector<std::byte> ascending;
    for (int i = 0; i < 32; ++i) {
        ascending.push_back(static_cast<std::byte>(i));
    }
    vectors.push_back({ascending, 0x46dd794e});
    vectors.push_back({{ascending.rbegin(), ascending.rend()}, 0x113fdb5c});
    return vectors;
}

TEST(Crc32c, PublishedVectors) {
    for (const Vector& vector : published()) {
        EXPECT_EQ(crc32c(vector.bytes), vector.crc);
        EXPECT_EQ(crc32c_portable(vector.bytes), vector.crc);
    }
}

TEST(Crc32c, EqualsTheDefinitionAtEverySizeAndAlignment) {
    const auto bytes = noise(3 * 4096 * 2 + 3 * 256 + 100);
    const std::span<const std::byte> all(bytes);
    for (std::size_t size = 0; size < 900; ++size) {
        const auto part = all.subspan(size % 9, size);
        const std::uint32_t expected = bitwise(part);
        ASSERT_EQ(crc32c(part), expected) << size;
        ASSERT_EQ(crc32c_portable(part), expected) << size;
    }
    for (const std::size_t size : {12'287UL, 12'288UL, 12'289UL, 13'055UL, 13'056UL, 24'577UL}) {
        ASSERT_EQ(crc32c(all.subspan(5, size)), bitwise(all.subspan(5, size))) << size;
    }
    ASSERT_EQ(crc32c(all), bitwise(all));
}

TEST(Crc32c, PiecesExtendAndCombine) {
    const auto bytes = noise(20'000);
    const std::span<const std::byte> all(bytes);
    const std::uint32_t whole = crc32c(all);
    for (const std::size_t cut : {0UL, 1UL, 7UL, 255UL, 4096UL, 13'000UL, 19'999UL, 20'000UL}) {
        const std::uint32_t head = crc32c(all.first(cut));
        const auto tail = all.subspan(cut);
        EXPECT_EQ(crc32c(tail, head), whole) << cut;
        EXPECT_EQ(crc32c_portable(tail, head), whole) << cut;
        EXPECT_EQ(crc32c_combine(head, crc32c(tail), tail.size()), whole) << cut;
    }
}

TEST(Crc32c, CombineIsAssociativeAtSizesNobodyHolds) {
    const std::uint32_t a = 0x12345678;
    const std::uint32_t b = 0x9abcdef0;
    const std::uint32_t c = 0x0f1e2d3c;
    const std::uint64_t b_size = (1UL << 40) + 12'345;
    const std::uint64_t c_size = (1UL << 33) - 1;
    EXPECT_EQ(
        crc32c_combine(crc32c_combine(a, b, b_size), c, c_size),
        crc32c_combine(a, crc32c_combine(b, c, c_size), b_size + c_size)
    );
}

}  // namespace
}  // namespace lakestream::codec
