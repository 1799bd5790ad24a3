// SPDX-License-Identifier: Apache-2.0
// Plain pages: what they hold is found where it lies; what is damaged or of another kind is told.
#include "table/plain_pages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "table/testing/plain_chunk.h"

namespace lakestream::table {
namespace {

std::vector<std::string> some_values(std::size_t count) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < count; ++i) {
        values.emplace_back(i * 37 % 400, static_cast<char>(i));
    }
    return values;
}

Result<std::vector<std::string>> read(std::string_view chunk, std::size_t rows) {
    const auto found = LKS_TRY(find_plain_values(std::as_bytes(std::span(chunk)), rows));
    std::vector<std::string> values;
    for (const auto value : found) {
        values.emplace_back(reinterpret_cast<const char*>(value.data()), value.size());
    }
    return values;
}

TEST(PlainPages, ValuesOfAllPagesComeInOrder) {
    const auto values = some_values(100);
    for (const auto levels : {PlainChunk::Levels::run, PlainChunk::Levels::bits}) {
        for (const bool more : {false, true}) {
            PlainChunk chunk{.checksums = more, .statistics = more, .levels = levels, .bytes = {}};
            chunk.add(std::span(values).first(1));
            chunk.add(std::span(values).subspan(1, 77));
            chunk.add({});
            chunk.add(std::span(values).subspan(78));
            EXPECT_EQ(read(chunk.bytes, 100).value(), values);
            EXPECT_EQ(read(chunk.bytes + "more", 100).value(), values) << "what is behind them";
            EXPECT_TRUE(read(chunk.bytes, 101).is(ErrorCode::unsupported)) << "a page is missing";
            EXPECT_TRUE(read(chunk.bytes, 99).is(ErrorCode::corrupt)) << "too many";
        }
    }
    EXPECT_TRUE(read("", 0).value().empty());
}

TEST(PlainPages, OfAPageWithAChecksumNoBitOfItsDataMayChange) {
    const auto values = some_values(20);
    PlainChunk chunk;
    chunk.add(values);
    const std::size_t data = chunk.bytes.find(std::string("\x02\0\0\0\x28\1", 6));
    ASSERT_NE(data, std::string::npos);
    for (std::size_t at = data; at < chunk.bytes.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string bad = chunk.bytes;
            bad[at] = static_cast<char>(bad[at] ^ 1 << bit);
            ASSERT_TRUE(read(bad, 20).is(ErrorCode::corrupt)) << at;
        }
    }
}

TEST(PlainPages, DamagedOrCutTheyAreRefusedOrReadAsTheyWere) {
    const auto values = some_values(20);
    for (const bool checksums : {false, true}) {
        PlainChunk chunk{.checksums = checksums, .statistics = true, .bytes = {}};
        chunk.add(values);
        for (std::size_t at = 0; at < chunk.bytes.size(); ++at) {
            ASSERT_FALSE(read(std::string_view(chunk.bytes).substr(0, at), 20).ok()) << at;
            std::string bad = chunk.bytes;
            bad[at] = static_cast<char>(bad[at] ^ 4);
            const auto got = read(bad, 20);
            ASSERT_TRUE(!got.ok() || !checksums || *got == values) << at;
        }
    }
}

TEST(PlainPages, PagesOfOtherKindsAreLeftToOthers) {
    const auto values = some_values(3);
    PlainChunk chunk;
    chunk.add(values);
    const auto with = [&](std::string_view what, std::string_view instead) {
        std::string changed = chunk.bytes;
        const std::size_t at = changed.find(what);
        EXPECT_NE(at, std::string::npos);
        return changed.replace(at, what.size(), instead);
    };
    EXPECT_TRUE(read(with(std::string("\x15\0", 2), "\x15\4"), 3).is(ErrorCode::unsupported))
        << "a dictionary";
    const std::string encodings("\x15\6\x15\0\x15\6", 6);  // 3 values, plain, RLE
    EXPECT_TRUE(read(with(encodings, "\x15\6\x15\x10\x15\6"), 3).is(ErrorCode::unsupported))
        << "indices into it";
    EXPECT_TRUE(read(with(encodings, {"\x15\6\x15\0\x15\x08", 6}), 3).is(ErrorCode::unsupported))
        << "levels in bits";
}

TEST(PlainPages, AnAbsentValueIsDamage) {
    const auto values = some_values(10);
    for (const std::string& levels : {std::string("\x14\0", 2), std::string("\5\xff\x01", 3)}) {
        PlainChunk chunk{.checksums = false, .bytes = {}};
        chunk.levels = levels.size() == 2 ? PlainChunk::Levels::run : PlainChunk::Levels::bits;
        chunk.add(values);
        const std::string good = levels.size() == 2 ? "\x14\1" : "\5\xff\xff";
        chunk.bytes.replace(chunk.bytes.find(good), good.size(), levels);
        EXPECT_TRUE(read(chunk.bytes, 10).is(ErrorCode::corrupt));
    }
}

}  // namespace
}  // namespace lakestream::table
