// SPDX-License-Identifier: Apache-2.0
// What the wire rules say, case by case: nulls, tags, claims, sharing, headers, tables, ids.
#include "codec/kafka/message_io.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/kafka/gen/api_keys.h"
#include "codec/kafka/gen/api_versions.h"
#include "codec/kafka/gen/fetch.h"
#include "codec/kafka/gen/metadata.h"
#include "codec/kafka/gen/produce.h"
#include "codec/kafka/request_header.h"
#include "codec/testing/golden.h"

namespace lakestream::codec::kafka {
namespace {

using Code = lakestream::ErrorCode;

template <class Message>
std::string hex_of(const Message& message, int version) {
    Writer writer;
    const Status status = message.encode(writer, version);
    return status.ok() ? to_hex(writer.finish().join()) : status.error().to_string();
}

template <class Message>
Result<Message> decode_hex(std::string_view hex, int version) {
    Reader reader(from_hex(hex));
    return Message::decode(reader, version);
}

// MetadataRequest is small and has it all: an array that may be null from version 1, a name that
// may be null from 10, an ignorable id, flexible from 9.

TEST(MessageIo, null_array_in_both_forms) {
    const MetadataRequest all{.topics = std::nullopt};
    EXPECT_EQ(hex_of(all, 1), "ffffffff");
    EXPECT_EQ(
        hex_of(all, 9),
        "00010000"
        "00"
    );
    EXPECT_EQ(decode_hex<MetadataRequest>("ffffffff", 1).value(), all);
    EXPECT_EQ(hex_of(MetadataRequest{}, 1), "00000000");
    EXPECT_EQ(
        hex_of(MetadataRequest{}, 9),
        "01010000"
        "00"
    );
}

TEST(MessageIo, example_of_the_format_page) {
    EXPECT_EQ(
        hex_of(MetadataRequest{.topics = {{{.name = "t"}}}}, 9),
        "02027400010000"
        "00"
    );
}

TEST(MessageIo, null_where_the_version_has_none) {
    const MetadataRequest all{.topics = std::nullopt};
    EXPECT_EQ(
        hex_of(all, 0),
        "invalid_argument: MetadataRequest.Topics is null, which version 0 cannot say"
    );
    EXPECT_TRUE(decode_hex<MetadataRequest>("ffffffff", 0).is(Code::corrupt));
    const MetadataRequest unnamed{.topics = {{{.name = std::nullopt}}}};
    EXPECT_EQ(
        hex_of(unnamed, 9),
        "invalid_argument: MetadataRequest.Topics.Name is null, which version 9 cannot say"
    );
    EXPECT_TRUE(decode_hex<MetadataRequest>(
                    "02"
                    "00"
                    "00"
                    "010000"
                    "00",
                    9
    )
                    .is(Code::corrupt));
}

TEST(MessageIo, field_the_version_lacks) {
    EXPECT_EQ(
        hex_of(MetadataRequest{.allow_auto_topic_creation = false}, 3),
        "invalid_argument: MetadataRequest.AllowAutoTopicCreation has a value, and version 3 has "
        "no "
        "place for it"
    );
    const auto old = decode_hex<MetadataRequest>("00000000", 3);
    EXPECT_TRUE(old->allow_auto_topic_creation);  // its default is not zero
}

TEST(MessageIo, string_limit) {
    const auto with_name = [](std::size_t size) {
        return MetadataRequest{.topics = {{{.name = std::string(size, 'x')}}}};
    };
    for (const int version : {0, 9}) {
        Writer longest;
        Writer longer;
        EXPECT_TRUE(with_name(0x7fff).encode(longest, version).ok());
        Status too_long = with_name(0x8000).encode(longer, version);
        EXPECT_TRUE(too_long.is(Code::invalid_argument));
    }
    // The same limit on what is read: uvarint(0x8000 + 1) and so many bytes.
    const std::string name(0x8000, 'x');
    const std::string head =
        "02"
        "818002";
    EXPECT_TRUE(decode_hex<MetadataRequest>(
                    head + to_hex(Bytes::copy(name)) +
                        "00"
                        "010000"
                        "00",
                    9
    )
                    .is(Code::corrupt));
}

TEST(MessageIo, claimed_counts_take_no_memory) {
    for (const char* claim : {"7fffffff", "000f4241", "00000004"}) {
        // Too many, one more than Kafka's limit, one more than the bytes can hold.
        EXPECT_TRUE(decode_hex<MetadataRequest>(std::string(claim) + "000161000162000163", 0)
                        .is(Code::corrupt)
        ) << claim;
    }
    EXPECT_TRUE(decode_hex<MetadataRequest>(
                    "00000003"
                    "000161000162000163",
                    0
    )
                    .ok());
    EXPECT_TRUE(decode_hex<MetadataRequest>("ffffffff0f", 9).is(Code::corrupt));
    EXPECT_TRUE(decode_hex<MetadataRequest>("ffffffff1f", 9).is(Code::corrupt));  // 33 bits
}

TEST(MessageIo, unknown_tags_are_skipped) {
    const auto request = decode_hex<MetadataRequest>(
        "01010000"
        "02"
        "0503aabbcc"
        "8001"
        "00",
        9
    );
    ASSERT_TRUE(request.ok()) << request.error().to_string();
    EXPECT_EQ(*request, MetadataRequest{});
}

TEST(MessageIo, malformed_tags) {
    const std::string body = "01010000";
    EXPECT_TRUE(decode_hex<MetadataRequest>(
                    body + "01"
                           "05"
                           "03"
                           "aabb",
                    9
    )
                    .is(Code::corrupt));
    EXPECT_TRUE(decode_hex<MetadataRequest>(
                    body + "ffffffff0f"
                           "0500",
                    9
    )
                    .is(Code::corrupt));
    EXPECT_TRUE(decode_hex<MetadataRequest>(
                    body + "02"
                           "0500"
                           "0400",
                    9
    )
                    .is(Code::corrupt));
    EXPECT_TRUE(decode_hex<MetadataRequest>(
                    body + "02"
                           "0500"
                           "0500",
                    9
    )
                    .is(Code::corrupt));
}

TEST(MessageIo, tag_with_a_wrong_size) {
    const std::string body =
        "0000"
        "01"
        "00000000";  // no error, no APIs, not throttled
    const auto with_epoch = [&](std::string_view tag) {
        return decode_hex<ApiVersionsResponse>(body + std::string(tag), 3);
    };
    EXPECT_EQ(
        with_epoch("01"
                   "01"
                   "08"
                   "0000000000000007")
            ->finalized_features_epoch,
        7
    );
    EXPECT_TRUE(with_epoch("01"
                           "01"
                           "07"
                           "0000000000000007")
                    .is(Code::corrupt));
    EXPECT_TRUE(with_epoch("01"
                           "01"
                           "09"
                           "000000000000000700")
                    .is(Code::corrupt));
}

TEST(MessageIo, tag_of_a_later_version_is_skipped) {
    // FetchRequest tag 1, the replica's state, is known from version 15 only.
    const std::string body =
        "ffffffff"
        "00000000"
        "00000000"
        "7fffffff"
        "00"
        "00000000"
        "ffffffff"
        "01"
        "01"
        "01";
    const std::string state =
        "01"
        "01"
        "0d"
        "00000003"
        "0000000000000004"
        "00";
    EXPECT_EQ(decode_hex<FetchRequest>(body + state, 14).value(), FetchRequest{});
    const auto later = decode_hex<FetchRequest>(body.substr(8) + state, 15);
    EXPECT_EQ(later->replica_state.replica_id, 3);
}

TEST(MessageIo, records_are_shared_both_ways) {
    const Bytes records = Bytes::own(std::string(5000, 'r'));
    const ProduceRequest request{
        .acks = -1,
        .topic_data = {{.name = "t", .partition_data = {{.index = 3, .records = records}}}},
    };
    Writer writer;
    ASSERT_TRUE(request.encode(writer, 9).ok());
    const Slices slices = writer.finish();
    bool spliced = false;
    for (const Bytes& part : slices.parts()) {
        spliced |= part.data() == records.data();
    }
    EXPECT_TRUE(spliced);

    const Bytes frame = slices.join();
    Reader reader(frame);
    const auto back = ProduceRequest::decode(reader, 9);
    ASSERT_TRUE(back.ok());
    const Bytes& read = back->topic_data.at(0).partition_data.at(0).records.value();
    EXPECT_EQ(read, records);
    EXPECT_TRUE(frame.begin() < read.begin() && read.end() < frame.end());
}

TEST(MessageIo, decode_stops_at_the_end_of_the_message) {
    Reader reader(
        from_hex("00000000"
                 "0102")
    );
    ASSERT_TRUE(MetadataRequest::decode(reader, 0).ok());
    EXPECT_EQ(reader.remaining(), 2u);
}

TEST(RequestHeader, version_follows_the_request) {
    const auto header = [](std::string_view hex) {
        Reader reader(from_hex(hex));
        return decode_request_header(reader);
    };
    const auto classic = header(
        "0003"
        "0008"
        "00000007"
        "000163"
    );
    EXPECT_EQ(classic->client_id, "c");
    EXPECT_EQ(classic->correlation_id, 7);
    EXPECT_EQ(
        header("0003"
               "0009"
               "00000007"
               "000163"
               "00")
            ->client_id,
        "c"
    );
    EXPECT_EQ(
        header("0003"
               "0009"
               "00000007"
               "ffff"
               "00")
            ->client_id,
        std::nullopt
    );
    EXPECT_TRUE(header("0003"
                       "0009"
                       "00000007"
                       "000163")
                    .is(Code::corrupt));  // no tags
    EXPECT_EQ(
        header("0012"
               "7fff"
               "00000007"
               "ffff"
               "00")
            ->request_api_version,
        0x7fff
    );
    EXPECT_TRUE(header("7000"
                       "0000"
                       "00000007"
                       "ffff")
                    .is(Code::unsupported));
    EXPECT_TRUE(header("000300").is(Code::corrupt));
}

TEST(ApiKeys, table) {
    EXPECT_EQ(find_api(-1), nullptr);
    EXPECT_EQ(find_api(4), nullptr);  // gone since Kafka 4.0
    EXPECT_EQ(find_api(1000), nullptr);
    for (const ApiInfo& api : all_apis()) {
        EXPECT_EQ(find_api(static_cast<std::int16_t>(api.key)), &api);
    }
    const ApiInfo* const produce = find_api(0);
    EXPECT_EQ(produce->name, "Produce");
    EXPECT_EQ(produce->versions, (VersionRange{3, 13}));
    EXPECT_EQ(produce->flexible_versions, (VersionRange{9, 13}));
    // Version 6 of InitProducerId is not released.
    EXPECT_EQ(find_api(22)->versions, (VersionRange{0, 5}));
}

TEST(ApiKeys, header_versions) {
    const ApiInfo& fetch = *find_api(1);
    EXPECT_EQ(request_header_version(fetch, 11), 1);
    EXPECT_EQ(request_header_version(fetch, 12), 2);
    EXPECT_EQ(response_header_version(fetch, 11), 0);
    EXPECT_EQ(response_header_version(fetch, 12), 1);
    const ApiInfo& api_versions = *find_api(18);
    EXPECT_EQ(request_header_version(api_versions, 3), 2);
    EXPECT_EQ(response_header_version(api_versions, 3), 0);
    EXPECT_EQ(request_header_version(*find_api(17), 1), 1);  // SaslHandshake is never flexible
}

TEST(ErrorCode, names_and_kinds) {
    EXPECT_EQ(to_string(ErrorCode::not_leader_or_follower), "NOT_LEADER_OR_FOLLOWER");
    EXPECT_EQ(static_cast<int>(ErrorCode::not_leader_or_follower), 6);
    EXPECT_EQ(to_string(static_cast<ErrorCode>(9999)), "UNKNOWN");
    EXPECT_TRUE(is_retriable(ErrorCode::corrupt_message));
    EXPECT_FALSE(is_retriable(ErrorCode::none));
    EXPECT_FALSE(is_retriable(static_cast<ErrorCode>(9999)));
    EXPECT_TRUE(refreshes_metadata(ErrorCode::unknown_topic_or_partition));
    EXPECT_FALSE(refreshes_metadata(ErrorCode::corrupt_message));
}

TEST(Uuid, text_form) {
    Uuid id;
    EXPECT_TRUE(id.is_zero());
    EXPECT_EQ(id.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
    for (std::size_t i = 0; i < id.bytes.size(); ++i) {
        id.bytes[i] = static_cast<std::byte>(0xf0 + i);
    }
    EXPECT_EQ(id.to_string(), "8PHy8_T19vf4-fr7_P3-_w");
    EXPECT_EQ(Uuid::parse(id.to_string()).value(), id);
}

TEST(Uuid, other_texts_are_refused) {
    for (const char* text :
         {"",
          "8PHy8_T19vf4-fr7_P3-_",
          "8PHy8_T19vf4-fr7_P3-_w==",
          "8PHy8_T19vf4-fr7/P3+/w",
          "8PHy8_T19vf4-fr7_P3-_x"}) {
        EXPECT_TRUE(Uuid::parse(text).is(Code::invalid_argument)) << text;
    }
}

}  // namespace
}  // namespace lakestream::codec::kafka
