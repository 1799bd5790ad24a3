// SPDX-License-Identifier: Apache-2.0
// Every codec round-trips, stays inside its limit and refuses damaged input.
#include "codec/compress.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/slices.h"
#include "codec/testing/golden.h"

namespace lakestream::codec {
namespace {

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
constexpr Compression packers[] = {
    Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd
};

Bytes text(std::size_t size) {
    std::string all;
    for (std::size_t i = 0; all.size() < size; ++i) {
        all += "line " + std::to_string(i * i % 1009) + "\n";
    }
    all.resize(size);
    return Bytes::own(std::move(all));
}

TEST(Compress, NumbersAreThoseOfKafka) {
    EXPECT_EQ(compression_from(0), Compression::none);
    EXPECT_EQ(compression_from(4), Compression::zstd);
    EXPECT_EQ(compression_from(5), std::nullopt);
    EXPECT_EQ(to_string(Compression::lz4), "lz4");
}

TEST(Compress, RoundTripsAtAllSizes) {
    for (const Compression codec : packers) {
        for (const std::size_t size : {0UL, 1UL, 32'768UL, 32'769UL, 65'537UL, 1'000'000UL}) {
            const Bytes input = text(size);
            const Bytes packed = compress(codec, input);
            const auto output = decompress(codec, packed, size);
            ASSERT_TRUE(output.ok()) << to_string(codec) << size << output.error().message;
            EXPECT_EQ(*output, input) << to_string(codec) << size;
            if (size > 100'000) {
                EXPECT_LT(packed.size(), size / 2) << to_string(codec);
            }
        }
    }
}

TEST(Compress, NoneSharesItsInput) {
    const Bytes input = text(100);
    EXPECT_EQ(decompress(Compression::none, input, 100)->data(), input.data());
    EXPECT_TRUE(decompress(Compression::none, input, 99).is(ErrorCode::exhausted));
}

TEST(Compress, OneByteTooManyIsExhausted) {
    for (const Compression codec : packers) {
        const Bytes bomb = compress(codec, Bytes::own(std::string(3'000'000, 'x')));
        EXPECT_TRUE(decompress(codec, bomb, 2'999'999).is(ErrorCode::exhausted))
            << to_string(codec);
        EXPECT_TRUE(decompress(codec, bomb, 0).is(ErrorCode::exhausted)) << to_string(codec);
        EXPECT_TRUE(decompress(codec, bomb, 3'000'000).ok()) << to_string(codec);
    }
}

TEST(Compress, BareDeflateIsOneStreamAndNothingElse) {
    const Bytes input = text(100'000);
    const Bytes packed = deflate_raw(input);
    EXPECT_LT(packed.size(), input.size() / 2);
    EXPECT_EQ(*inflate_raw(packed, input.size()), input);
    EXPECT_TRUE(inflate_raw(packed, input.size() - 1).is(ErrorCode::exhausted));
    for (std::size_t size = 0; size < packed.size(); size += 17) {
        EXPECT_TRUE(inflate_raw(packed.slice(0, size), no_limit).is(ErrorCode::corrupt)) << size;
    }
    std::string longer(packed.view());
    longer += packed.view();
    EXPECT_TRUE(inflate_raw(Bytes::own(longer), no_limit).is(ErrorCode::corrupt));
}

TEST(Compress, EveryTruncationIsRefused) {
    for (const Compression codec : packers) {
        const Bytes packed = compress(codec, text(300));
        for (std::size_t size = 0; size < packed.size(); ++size) {
            const auto output = decompress(codec, packed.slice(0, size), no_limit);
            if (codec == Compression::snappy && size == 16) {
                EXPECT_TRUE(output.ok() && output->empty());  // a frame without blocks
                continue;
            }
            EXPECT_TRUE(output.is(ErrorCode::corrupt)) << to_string(codec) << size;
        }
    }
}

TEST(Compress, ConcatenatedMembersAreOneRun) {
    for (const Compression codec : {Compression::gzip, Compression::lz4, Compression::zstd}) {
        Slices two(compress(codec, text(50)));
        two.append(compress(codec, text(7000)));
        const auto output = decompress(codec, two.join(), no_limit);
        ASSERT_TRUE(output.ok()) << to_string(codec);
        EXPECT_EQ(output->size(), 7050) << to_string(codec);
    }
}

TEST(Compress, RawSnappyIsReadToo) {
    const auto output = decompress(Compression::snappy, from_hex("0308616263"), no_limit);
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(output->view(), "abc");
}

TEST(Compress, SnappyLengthThatCannotBeIsRefusedBeforeMemoryIsTaken) {
    EXPECT_TRUE(decompress(Compression::snappy, from_hex("ffffffff0708616263"), no_limit)
                    .is(ErrorCode::corrupt));
}

}  // namespace
}  // namespace lakestream::codec
