// SPDX-License-Identifier: Apache-2.0
// CRC-32 against published vectors and against the definition, bit by bit.
#include "codec/crc32.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "codec/testing/bitwise_crc.h"

namespace lakestream::codec {
namespace {

std::uint32_t bitwise(std::span<const std::byte> bytes) {
    return bitwise_crc(0xedb88320, bytes);
}

TEST(Crc32, PublishedVectors) {
    const auto of = [](std::string_view text) { return crc32(std::as_bytes(std::span(text))); };
    EXPECT_EQ(of("123456789"), 0xcbf43926U);
    EXPECT_EQ(of(""), 0U);
    EXPECT_EQ(of("The quick brown fox jumps over the lazy dog"), 0x414fa339U);
}

TEST(Crc32, EqualsTheDefinitionAtEverySizeAndAlignment) {
    const auto bytes = noise(5000);
    const std::span<const std::byte> all(bytes);
    for (std::size_t size = 0; size < 900; ++size) {
        const auto part = all.subspan(size % 17, size);
        ASSERT_EQ(crc32(part), bitwise(part)) << size;
    }
    ASSERT_EQ(crc32(all), bitwise(all));
}

TEST(Crc32, PiecesExtend) {
    const auto bytes = noise(3000);
    const std::span<const std::byte> all(bytes);
    const std::uint32_t whole = bitwise(all);
    for (std::size_t cut = 0; cut <= all.size(); cut += 37) {
        ASSERT_EQ(crc32(all.subspan(cut), crc32(all.first(cut))), whole) << cut;
    }
}

}  // namespace
}  // namespace lakestream::codec
