// SPDX-License-Identifier: Apache-2.0
// Batches from every codec into every other.
#include "codec/recompress.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/batch_builder.h"
#include "codec/record_reader.h"

namespace lakestream::codec {
namespace {

constexpr Compression codecs[] = {
    Compression::none, Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd
};

Bytes batch_in(Compression codec, std::size_t value_bytes = 100) {
    BatchBuilder builder(
        {.codec = codec, .producer_id = 7, .producer_epoch = 2, .base_sequence = 30}
    );
    for (int i = 0; i < 10; ++i) {
        const std::string value(value_bytes, static_cast<char>('a' + i));
        builder.add(1000 + i, std::nullopt, std::as_bytes(std::span(value)));
    }
    return builder.finish();
}

std::vector<std::string> records_of(const Bytes& batch) {
    auto reader = RecordReader::open(batch, 1 << 20);
    EXPECT_TRUE(reader.ok());
    std::vector<std::string> all;
    for (Record record; reader->next(record);) {
        all.push_back(std::to_string(record.timestamp));
        all.back() +=
            std::string(reinterpret_cast<const char*>(record.value->data()), record.value->size());
    }
    EXPECT_TRUE(reader->status().ok());
    return all;
}

TEST(Recompress, keeps_everything_but_the_codec) {
    for (const Compression from : codecs) {
        for (const Compression to : codecs) {
            SCOPED_TRACE(std::string(to_string(from)) + " to " + std::string(to_string(to)));
            const Bytes before = batch_in(from);
            const auto after = recompress_batch(before, to, 1 << 20);
            ASSERT_TRUE(after.ok()) << after.error().to_string();
            const auto headers = validate_batches(after->span(), {});  // also its CRC
            ASSERT_TRUE(headers.ok()) << headers.error().to_string();
            BatchHeader header = headers->front();
            EXPECT_EQ(header.codec(), to);
            const BatchHeader old = *read_batch_header(before.span());
            header.attributes = old.attributes;
            header.length = old.length;
            header.crc = old.crc;
            EXPECT_EQ(header, old);
            EXPECT_EQ(records_of(*after), records_of(before));
        }
    }
}

TEST(Recompress, stays_within_its_limit) {
    for (const Compression from : codecs) {
        const Bytes batch = batch_in(from, 10'000);
        EXPECT_TRUE(recompress_batch(batch, Compression::zstd, 50'000).is(ErrorCode::exhausted));
        EXPECT_TRUE(recompress_batch(batch, Compression::zstd, 200'000).ok());
    }
}

TEST(Recompress, refuses_what_is_broken_inside) {
    for (const Compression from : codecs) {
        const Bytes whole = batch_in(from);
        std::vector<std::byte> broken(whole.begin(), whole.end());
        for (std::size_t i = batch_header_bytes; i < broken.size(); ++i) {
            broken[i] = std::byte{0xff};
        }
        const auto refused =
            recompress_batch(Bytes::own(std::move(broken)), Compression::gzip, 1 << 20);
        EXPECT_TRUE(refused.is(ErrorCode::corrupt)) << static_cast<int>(from);
    }
}

}  // namespace
}  // namespace lakestream::codec
