// SPDX-License-Identifier: Apache-2.0
// DeleteRecords through real frames, in every version.
#include "codec/kafka/gen/delete_records.h"

#include <gtest/gtest.h>

#include "codec/kafka/gen/list_offsets.h"
#include "kafka/testing/broker.h"

namespace lakestream::kafka {
namespace {

using codec::kafka::DeleteRecordsRequest;
using codec::kafka::DeleteRecordsResponse;
using codec::kafka::ListOffsetsRequest;
using codec::kafka::ListOffsetsResponse;
using testing::TestBroker;
using testing::TestClient;
using Answer = DeleteRecordsResponse::DeleteRecordsPartitionResult;

class DeleteRecords : public ::testing::Test {
  protected:
    void SetUp() override {
        stream_ = broker_.catalog.add("events", 2);
        broker_.engine.add_void(stream_->logs[0], 10);
    }

    Answer ask(std::int64_t offset, std::int32_t partition = 0, int version = 2) {
        DeleteRecordsRequest request{.topics = {}, .timeout_ms = 1000};
        request.topics.push_back({.name = topic_, .partitions = {{partition, offset}}});
        const auto response = client_.call<DeleteRecordsResponse>(request, version);
        EXPECT_EQ(response.topics.at(0).name, topic_);
        return response.topics.at(0).partitions.at(0);
    }

    std::int64_t earliest() {
        ListOffsetsRequest request;
        request.topics.push_back(
            {.name = "events", .partitions = {{.partition_index = 0, .timestamp = -2}}}
        );
        return client_.call<ListOffsetsResponse>(request, 7).topics.at(0).partitions.at(0).offset;
    }

    TestBroker broker_{ServerOptions{}};
    TestClient client_ = broker_.connect();
    catalog::StreamPtr stream_;
    std::string topic_ = "events";
};

TEST_F(DeleteRecords, the_partition_starts_there_in_every_version) {
    for (int version = 0; version <= 2; ++version) {
        const Answer answer = ask(version + 1, 0, version);
        EXPECT_EQ(answer.error_code, KafkaError::none);
        EXPECT_EQ(answer.low_watermark, version + 1);
        EXPECT_EQ(earliest(), version + 1);
    }
}

TEST_F(DeleteRecords, it_never_starts_earlier_again) {
    EXPECT_EQ(ask(5).low_watermark, 5);
    const Answer answer = ask(2);
    EXPECT_EQ(answer.error_code, KafkaError::none);
    EXPECT_EQ(answer.low_watermark, 5);
    EXPECT_EQ(earliest(), 5);
}

TEST_F(DeleteRecords, the_end_is_included_and_has_a_name) {
    EXPECT_EQ(ask(10).low_watermark, 10);
    broker_.engine.add_void(stream_->logs[0], 3);
    EXPECT_EQ(ask(-1).low_watermark, 13);
    EXPECT_EQ(earliest(), 13);
}

TEST_F(DeleteRecords, what_is_not_there_is_refused_and_nothing_happens) {
    EXPECT_EQ(ask(11).error_code, KafkaError::offset_out_of_range);
    EXPECT_EQ(ask(-2).error_code, KafkaError::offset_out_of_range);
    EXPECT_EQ(ask(11).low_watermark, -1);
    EXPECT_EQ(ask(0, 2).error_code, KafkaError::unknown_topic_or_partition);
    EXPECT_EQ(ask(0, -1).error_code, KafkaError::unknown_topic_or_partition);
    topic_ = "other";
    EXPECT_EQ(ask(0).error_code, KafkaError::unknown_topic_or_partition);
    EXPECT_EQ(earliest(), 0);
}

}  // namespace
}  // namespace lakestream::kafka
