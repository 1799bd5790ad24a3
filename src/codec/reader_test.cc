// SPDX-License-Identifier: Apache-2.0
// Tests of Reader and of varints.
#include "codec/reader.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "codec/writer.h"

namespace lakestream::codec {
namespace {

template <class... Octets>
std::array<std::byte, sizeof...(Octets)> octets(Octets... values) {
    return {static_cast<std::byte>(values)...};
}

TEST(Varint, SizeIsWhatTheWriterWrites) {
    for (int bit = 0; bit < 64; ++bit) {
        for (const std::uint64_t value : {1UL << bit, (1UL << bit) - 1, ~0UL >> bit}) {
            Writer writer;
            writer.uvarint64(value);
            EXPECT_EQ(writer.size(), uvarint_size(value)) << value;
            Reader reader(writer.finish().join());
            EXPECT_EQ(reader.uvarint64(), value);
            EXPECT_TRUE(reader.ok());
            EXPECT_EQ(reader.remaining(), 0);
        }
    }
}

TEST(Varint, ZigzagKeepsSmallNumbersShort) {
    EXPECT_EQ(zigzag(std::int32_t{0}), 0U);
    EXPECT_EQ(zigzag(std::int32_t{-1}), 1U);
    EXPECT_EQ(zigzag(std::int32_t{1}), 2U);
    EXPECT_EQ(zigzag(std::numeric_limits<std::int32_t>::min()), 0xffffffffU);
    EXPECT_EQ(zigzag(std::numeric_limits<std::int64_t>::max()), 0xfffffffffffffffeUL);
    for (const std::int64_t value : {0L, -1L, 63L, -64L, 64L, 1L << 40, -(1L << 40)}) {
        EXPECT_EQ(unzigzag(zigzag(value)), value);
    }
    EXPECT_EQ(unzigzag(0xffffffffU), std::numeric_limits<std::int32_t>::min());
}

TEST(Varint, LongerFormsThanNeededAreRead) {
    const auto bytes = octets(0x81, 0x80, 0x80, 0x00, 0x80, 0x80, 0x80, 0x80, 0x00, 0x07);
    Reader reader(bytes);
    EXPECT_EQ(reader.uvarint(), 1U);
    EXPECT_EQ(reader.uvarint(), 0U);
    EXPECT_EQ(reader.uvarint(), 7U);
    EXPECT_TRUE(reader.ok());
}

TEST(Varint, TooManyBitsOrBytesAreRefused) {
    const auto widest = octets(0xff, 0xff, 0xff, 0xff, 0x0f);
    Reader fits(widest);
    EXPECT_EQ(fits.uvarint(), 0xffffffffU);
    EXPECT_TRUE(fits.ok());

    const auto too_wide = octets(0xff, 0xff, 0xff, 0xff, 0x1f);
    Reader wide(too_wide);
    EXPECT_EQ(wide.uvarint(), 0U);
    EXPECT_FALSE(wide.ok());
    EXPECT_EQ(Reader(too_wide).uvarint64(), 0x1ffffffffUL);

    const auto six_bytes = octets(0x80, 0x80, 0x80, 0x80, 0x80, 0x00);
    Reader six(six_bytes);
    six.uvarint();
    EXPECT_FALSE(six.ok());

    const auto unfinished = octets(0x80, 0x80);
    Reader cut(unfinished);
    cut.uvarint64();
    EXPECT_FALSE(cut.ok());

    const auto ten = octets(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02);
    Reader past_64(ten);
    past_64.uvarint64();
    EXPECT_FALSE(past_64.ok());
}

TEST(Reader, FailureIsStickyAndSaysWhere) {
    const auto bytes = octets(0, 1, 2, 3, 4, 5);
    Reader reader(bytes);
    EXPECT_EQ(reader.int32(), 0x00010203);
    EXPECT_EQ(reader.int32(), 0);
    EXPECT_EQ(reader.int8(), 0) << "two bytes are left, but the reader has failed";
    EXPECT_EQ(reader.remaining(), 0);
    EXPECT_TRUE(reader.bytes(1).empty());
    EXPECT_TRUE(reader.view(1).empty());
    const Status status = reader.status("frame");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.code(), ErrorCode::corrupt);
    EXPECT_EQ(status.error().message, "frame is cut short or malformed at byte 4");
    EXPECT_EQ(
        reader.status("frame", ErrorCode::invalid_argument).code(), ErrorCode::invalid_argument
    );
}

TEST(Reader, ClaimsNearTheSizeOfTheAddressSpaceFail) {
    const auto bytes = octets(1, 2, 3);
    Reader reader(bytes);
    reader.skip(1);
    EXPECT_TRUE(reader.span(std::numeric_limits<std::size_t>::max()).empty());
    EXPECT_FALSE(reader.ok());
}

TEST(Reader, SlicesShareBytesAndOutliveTheReader) {
    Bytes slice;
    const std::byte* from = nullptr;
    {
        const Bytes input = Bytes::copy(std::string_view("headpayload"));
        from = input.data() + 4;
        Reader reader(input);
        reader.skip(4);
        slice = reader.bytes(7);
        EXPECT_TRUE(reader.bytes(0).empty());
        EXPECT_TRUE(reader.ok());
    }
    EXPECT_EQ(slice.data(), from);
    EXPECT_EQ(slice.view(), "payload");
}

TEST(Reader, SlicesOfBorrowedInputAreCopies) {
    std::string text = "abc";
    Reader reader(std::as_bytes(std::span(text)));
    const Bytes copy = reader.bytes(3);
    text[0] = 'x';
    EXPECT_EQ(copy.view(), "abc");
}

}  // namespace
}  // namespace lakestream::codec
