// SPDX-License-Identifier: Apache-2.0
// FastPFOR against vectors of the Java library, and refusal of what it never writes.
#include "codec/fastpfor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "codec/testing/golden.h"

namespace lakestream::codec {
namespace {

constexpr std::size_t any_count = 1UL << 31;

std::vector<std::uint32_t> values_of(const nlohmann::json& numbers) {
    std::vector<std::uint32_t> values;
    for (const auto& number : numbers) {
        values.push_back(static_cast<std::uint32_t>(number.get<std::int64_t>()));
    }
    return values;
}

TEST(FastPfor, JavaVectorsBothWays) {
    const auto cases = golden_json("index/fastpfor.json");
    ASSERT_EQ(cases.size(), 65);
    for (const auto& vector : cases) {
        const std::string name = vector["name"];
        const std::string packed = vector["payload_hex"];
        const std::vector<std::uint32_t> values = values_of(vector["values"]);
        EXPECT_EQ(to_hex(fastpfor_encode(values)), packed) << name;
        const auto decoded = fastpfor_decode(from_hex(packed), any_count);
        ASSERT_TRUE(decoded.ok()) << name;
        EXPECT_EQ(*decoded, values) << name;
    }
}

TEST(FastPfor, EveryWidthAndCountRoundTrips) {
    std::uint64_t state = 1;
    for (unsigned width = 0; width <= 32; ++width) {
        for (const std::size_t count : {1UL, 31UL, 32UL, 33UL, 127UL, 128UL, 300UL}) {
            std::vector<std::uint32_t> values;
            std::uint32_t value = 0;
            while (values.size() < count) {
                state = state * 6364136223846793005 + 1442695040888963407;
                value += width == 0 ? 0 : static_cast<std::uint32_t>(state >> 32) >> (32 - width);
                values.push_back(value);
            }
            const auto decoded = fastpfor_decode(fastpfor_encode(values), count);
            ASSERT_TRUE(decoded.ok()) << width << " " << count;
            EXPECT_EQ(*decoded, values) << width << " " << count;
        }
    }
}

TEST(FastPfor, WordsAfterTheEndAreIgnored) {
    const auto decoded = fastpfor_decode(from_hex("000000020000000000008a8affffffff"), any_count);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, (std::vector<std::uint32_t>{10, 20}));
}

TEST(FastPfor, EveryTruncationIsRefused) {
    std::vector<std::uint32_t> values;
    for (std::uint32_t i = 0; i < 200; ++i) {
        values.push_back(i * i);
    }
    const Bytes whole = fastpfor_encode(values);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_TRUE(fastpfor_decode(whole.span().first(size), any_count).is(ErrorCode::corrupt))
            << size;
    }
}

TEST(FastPfor, ImpossibleFormsAreRefused) {
    const struct {
        const char* what;
        const char* hex;
    } cases[] = {
        {"no word", ""},
        {"half a word", "0000"},
        {"two billion values in three words", "7fffffff0000000000008a8a"},
        {"a width of 33", "0000002000000021"},
        {"a width of 33 in a group", "0000008000210000"},
        {"a lone header with more than a width", "0000002000000100"},
        {"a tail number without end", "000000010000000000000000000000007f7f7f7f"},
        {"a tail number of 33 bits", "00000001000000007f7f7f7f0000009f"},
    };
    for (const auto& form : cases) {
        EXPECT_TRUE(fastpfor_decode(from_hex(form.hex), any_count).is(ErrorCode::corrupt))
            << form.what;
    }
}

TEST(FastPfor, LimitIsOnValues) {
    const Bytes zeros = fastpfor_encode(std::vector<std::uint32_t>(1000, 0));
    EXPECT_LT(zeros.size(), 100);
    EXPECT_TRUE(fastpfor_decode(zeros, 1000).ok());
    EXPECT_TRUE(fastpfor_decode(zeros, 999).is(ErrorCode::corrupt));
}

}  // namespace
}  // namespace lakestream::codec
