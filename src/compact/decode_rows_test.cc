// SPDX-License-Identifier: Apache-2.0
// Rows of entries: offsets, nulls, and batches that nobody can decode.
#include "compact/decode_rows.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "base/endian.h"
#include "codec/batch_builder.h"
#include "codec/crc32c.h"

namespace lakestream::compact {
namespace {

constexpr std::size_t crc_at = 17;
constexpr std::size_t attributes_at = 21;

Bytes batch(const std::vector<std::string>& values) {
    codec::BatchBuilder builder;
    for (const std::string& value : values) {
        builder.add(1000, std::nullopt, std::as_bytes(std::span(value)));
    }
    return builder.finish();
}

/// The same bytes, said to be gzip, with the right CRC: as a broken or hostile client sends them.
Bytes undecodable(const Bytes& good) {
    std::vector<std::byte> bytes(good.begin(), good.end());
    bytes.at(attributes_at + 1) |= std::byte{1};
    store_be(bytes.data() + crc_at, codec::crc32c(std::span(bytes).subspan(attributes_at)));
    return Bytes::own(std::move(bytes));
}

Bytes joined(const std::vector<Bytes>& parts) {
    std::vector<std::byte> all;
    for (const Bytes& part : parts) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return Bytes::own(std::move(all));
}

std::string text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Decoded {
    std::vector<std::pair<std::int64_t, std::string>> rows;
    std::vector<OffsetRange> unreadable;
};

Decoded decode(OffsetRange range, const Bytes& payload) {
    Decoded out;
    const Status done = decode_rows(
        3,
        {.range = range, .created = WallTime(), .payload = payload},
        [&](const table::Row& row) -> Status {
            EXPECT_EQ(row.partition, 3);
            EXPECT_FALSE(row.key.has_value());
            out.rows.emplace_back(row.offset, text(*row.value));
            return {};
        },
        [&](OffsetRange batch, const Error& error) {
            EXPECT_FALSE(error.message.empty());
            out.unreadable.push_back(batch);
        }
    );
    EXPECT_TRUE(done.ok());
    return out;
}

using Rows = std::vector<std::pair<std::int64_t, std::string>>;
using Ranges = std::vector<OffsetRange>;

TEST(DecodeRows, batches_of_an_entry_follow_each_other) {
    const Decoded out = decode({Offset(10), Offset(13)}, joined({batch({"a", "b"}), batch({"c"})}));
    EXPECT_EQ(out.rows, (Rows{{10, "a"}, {11, "b"}, {12, "c"}}));
    EXPECT_TRUE(out.unreadable.empty());
}

TEST(DecodeRows, a_batch_that_does_not_decode_is_left_out_whole_and_the_next_is_not) {
    const Decoded out = decode(
        {Offset(10), Offset(14)},
        joined({batch({"a"}), undecodable(batch({"b", "c"})), batch({"d"})})
    );
    EXPECT_EQ(out.rows, (Rows{{10, "a"}, {13, "d"}}));
    EXPECT_EQ(out.unreadable, (Ranges{{Offset(11), Offset(13)}}));
}

TEST(DecodeRows, a_record_that_is_malformed_takes_its_whole_batch_along) {
    const Bytes good = batch({"a", "b"});
    std::vector<std::byte> bytes(good.begin(), good.end());
    bytes.back() = std::byte{0x7f};  // the header count of the last record
    const Decoded out = decode({Offset(0), Offset(2)}, Bytes::own(std::move(bytes)));
    EXPECT_TRUE(out.rows.empty());
    EXPECT_EQ(out.unreadable, (Ranges{{Offset(0), Offset(2)}}));
}

TEST(DecodeRows, what_cannot_be_cut_into_batches_is_left_out_to_its_end) {
    const Bytes good = batch({"a", "b"});
    const Decoded shorter = decode({Offset(0), Offset(5)}, good);
    EXPECT_EQ(shorter.rows.size(), 2U);
    EXPECT_EQ(shorter.unreadable, (Ranges{{Offset(2), Offset(5)}}));
    const Decoded longer = decode({Offset(0), Offset(1)}, good);
    EXPECT_TRUE(longer.rows.empty()) << "its rows would have offsets of the next entry";
    EXPECT_EQ(longer.unreadable, (Ranges{{Offset(0), Offset(1)}}));
    const Decoded torn = decode({Offset(0), Offset(2)}, good.slice(0, 30));
    EXPECT_EQ(torn.unreadable, (Ranges{{Offset(0), Offset(2)}}));
}

TEST(DecodeRows, an_error_of_the_row_ends_it) {
    const Status done = decode_rows(
        0,
        {.range = {Offset(0), Offset(1)}, .created = WallTime(), .payload = batch({"a"})},
        [](const table::Row&) -> Status { return exhausted("disk full"); },
        [](OffsetRange, const Error&) { FAIL(); }
    );
    EXPECT_TRUE(done.is(ErrorCode::exhausted));
}

}  // namespace
}  // namespace lakestream::compact
