// SPDX-License-Identifier: Apache-2.0
// The bytes of rows, as docs/formats/embedded-metadata.md has them.
#include "meta/embedded/rows.h"

#include <gtest/gtest.h>

#include <string>

namespace lakestream::meta::embedded {
namespace {

std::string text(std::initializer_list<unsigned> bytes) {
    std::string out;
    for (const unsigned byte : bytes) {
        out.push_back(static_cast<char>(byte));
    }
    return out;
}

const StoredRecord full{
    .value = Bytes::copy("value"),
    .version =
        {.id = VersionId(300),
         .modifications = 2,
         .created = wall_from_ms(1000),
         .modified = wall_from_ms(1003),
         .session = SessionId(8),
         .identity = "me"},
    .partition_key = "",
};

const std::string full_header =
    text({1, 7, 0xd8, 0x04, 0x04, 0xd0, 0x0f, 0x06, 0x10, 2, 'm', 'e', 0});

TEST(Rows, RecordsAreAsDocumented) {
    EXPECT_EQ(encode_record_header(full).view(), full_header);
    const auto back = decode_record(full_header + "value");
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->value.view(), "value");
    EXPECT_EQ(back->version.id, VersionId(300));
    EXPECT_EQ(back->version.modifications, 2);
    EXPECT_EQ(back->version.created, full.version.created);
    EXPECT_EQ(back->version.modified, full.version.modified);
    EXPECT_EQ(back->version.session, SessionId(8));
    EXPECT_EQ(back->version.identity, "me");
    EXPECT_EQ(back->partition_key, "");
    const auto head = decode_record_head(full_header);
    EXPECT_EQ(head->session, SessionId(8));
    EXPECT_EQ(head->created, full.version.created);
}

TEST(Rows, ShortRecordsAreRefused) {
    for (std::size_t size = 0; size < full_header.size(); ++size) {
        EXPECT_TRUE(decode_record(full_header.substr(0, size)).is(ErrorCode::corrupt)) << size;
    }
}

TEST(Rows, UnknownLayoutsAreRefused) {
    EXPECT_TRUE(decode_record(text({2, 0, 0, 0, 0, 0})).is(ErrorCode::corrupt));
    EXPECT_TRUE(decode_record(text({1, 8, 0, 0, 0, 0})).is(ErrorCode::corrupt));
    EXPECT_TRUE(decode_record(text({1, 2, 0, 0, 0, 0, 200, 200, 200, 1})).is(ErrorCode::corrupt));
}

TEST(Rows, KeysOfRows) {
    EXPECT_EQ(record_row("key"), "rkey");
    EXPECT_EQ(session_row(SessionId(258)), text({'s', 0, 0, 0, 0, 0, 0, 1, 2}));
    EXPECT_EQ(link_row(SessionId(1), "k"), text({'e', 0, 0, 0, 0, 0, 0, 0, 1, 'k'}));
    const std::string row = link_row(SessionId(258), "k");
    const auto link = parse_session_row(row);
    EXPECT_EQ(link->first, SessionId(258));
    EXPECT_EQ(link->second, "k");
    EXPECT_TRUE(parse_session_row("s1234567").is(ErrorCode::corrupt));
}

TEST(Rows, Counters) {
    const std::string row = text({1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7});
    EXPECT_EQ(encode_counters({.offset = 9, .version = 7}).view(), row);
    EXPECT_EQ(decode_counters(row)->offset, 9);
    EXPECT_EQ(decode_counters(row)->version, 7);
    EXPECT_TRUE(decode_counters(row + "x").is(ErrorCode::corrupt));
    std::string negative = row;
    negative[1] = '\xff';
    EXPECT_TRUE(decode_counters(negative).is(ErrorCode::corrupt));
}

TEST(Rows, Sessions) {
    const std::string row = text({1, 0xd0, 0x0f, 2, 'm', 'e'});
    EXPECT_EQ(encode_session({.timeout = 2s, .identity = "me", .keys = {}}).view(), row);
    EXPECT_EQ(decode_session(row)->timeout, 2s);
    EXPECT_EQ(decode_session(row)->identity, "me");
    EXPECT_TRUE(decode_session(text({1, 1, 0})).is(ErrorCode::corrupt));  // 1 ms
    EXPECT_TRUE(decode_session(row + "x").is(ErrorCode::corrupt));
}

}  // namespace
}  // namespace lakestream::meta::embedded
