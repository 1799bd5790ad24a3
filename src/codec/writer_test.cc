// SPDX-License-Identifier: Apache-2.0
// Tests of Writer, read back by Reader.
#include "codec/writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "codec/reader.h"

namespace lakestream::codec {
namespace {

TEST(Writer, EveryKindOfValueRoundTrips) {
    Writer writer;
    writer.int8(-5);
    writer.int16(-300);
    writer.int32(0x01020304);
    writer.int64(std::numeric_limits<std::int64_t>::min());
    writer.uint8(200);
    writer.uint16(60000);
    writer.uint32(0xfffffffe);
    writer.float64(-0.5);
    writer.boolean(true);
    writer.boolean(false);
    writer.uvarint(300);
    writer.varint(-301);
    writer.varlong(-(1L << 50));
    writer.raw("text");
    const Bytes bytes = writer.finish().join();
    EXPECT_EQ(bytes[3], std::byte{1});  // big-endian

    Reader reader(bytes);
    EXPECT_EQ(reader.int8(), -5);
    EXPECT_EQ(reader.int16(), -300);
    EXPECT_EQ(reader.int32(), 0x01020304);
    EXPECT_EQ(reader.int64(), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(reader.uint8(), 200);
    EXPECT_EQ(reader.uint16(), 60000);
    EXPECT_EQ(reader.uint32(), 0xfffffffe);
    EXPECT_EQ(reader.float64(), -0.5);
    EXPECT_TRUE(reader.boolean());
    EXPECT_FALSE(reader.boolean());
    EXPECT_EQ(reader.uvarint(), 300U);
    EXPECT_EQ(reader.varint(), -301);
    EXPECT_EQ(reader.varlong(), -(1L << 50));
    EXPECT_EQ(reader.view(4), "text");
    EXPECT_EQ(reader.remaining(), 0);
    EXPECT_TRUE(reader.status("values").ok());
}

TEST(Writer, LargeSplicesAreSharedAndSmallOnesCopied) {
    const Bytes large = Bytes::own(std::string(Writer::splice_bytes_min, 'L'));
    const Bytes small = Bytes::own(std::string(Writer::splice_bytes_min - 1, 's'));
    Writer writer;
    const Writer::OpenInt32 length = writer.open_int32();
    writer.splice(small);
    writer.splice(large);
    writer.int8('!');
    EXPECT_EQ(writer.bytes_since(length), small.size() + large.size() + 1);
    writer.patch(length, static_cast<std::int32_t>(writer.bytes_since(length)));

    const Slices slices = writer.finish();
    ASSERT_EQ(slices.parts().size(), 3);
    EXPECT_EQ(slices.parts()[1].data(), large.data());
    Reader reader(slices.join());
    EXPECT_EQ(static_cast<std::size_t>(reader.int32()), reader.remaining());
    EXPECT_EQ(reader.view(small.size()), small.view());
    EXPECT_EQ(reader.view(large.size()), large.view());
    EXPECT_EQ(reader.view(1), "!");
    EXPECT_EQ(writer.size(), 0);
}

TEST(Writer, GrowthKeepsWhatWasWritten) {
    Writer writer(3);
    for (std::int32_t i = 0; i < 10'000; ++i) {
        writer.int32(i);
    }
    Reader reader(writer.finish().join());
    for (std::int32_t i = 0; i < 10'000; ++i) {
        ASSERT_EQ(reader.int32(), i);
    }
    EXPECT_EQ(reader.remaining(), 0);
}

TEST(Writer, NothingWrittenIsNothing) {
    Writer writer(100);
    EXPECT_TRUE(writer.finish().empty());
}

}  // namespace
}  // namespace lakestream::codec
