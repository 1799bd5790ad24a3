// SPDX-License-Identifier: Apache-2.0
// The client against a whole node on simulated leaves: what is written is read, also after a crash.
#include "cli/client.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "cli/topic_info.h"
#include "codec/batch_builder.h"
#include "codec/kafka/gen/create_topics.h"
#include "codec/kafka/gen/fetch.h"
#include "codec/kafka/gen/produce.h"
#include "codec/record_reader.h"
#include "server/testing/sim_node.h"

namespace lakestream::cli {
namespace {

namespace kafka = codec::kafka;

class Client : public ::testing::Test {
  protected:
    void SetUp() override { start(); }
    void TearDown() override { disconnect(); }

    void start() {
        ASSERT_TRUE(world_.start().ok());
        auto connected = sim_.run(
            Broker::connect(world_.client_network, {.host = "node", .port = 9092}, no_deadline)
        );
        ASSERT_TRUE(connected.ok()) << connected.error().to_string();
        broker_ = std::move(*connected);
    }

    void disconnect() {
        if (broker_ != nullptr) {
            sim_.run(broker_->close());
            broker_.reset();
        }
    }

    void crash() {
        world_.crash();
        disconnect();
    }

    Status create(const std::string& topic) {
        kafka::CreateTopicsRequest request;
        auto& created = request.topics.emplace_back();
        created.name = topic;
        created.num_partitions = 2;
        created.replication_factor = 1;
        auto response = sim_.run(broker_->call<kafka::CreateTopicsResponse>(std::move(request)));
        return response.ok() ? check_code(response->topics.at(0).error_code, topic)
                             : Status(response.error());
    }

    kafka::ProduceRequest produce_request(const std::string& topic, const std::string& value) {
        codec::BatchBuilder batch;
        batch.add(1000, std::nullopt, std::as_bytes(std::span(value)));
        kafka::ProduceRequest request;
        request.acks = -1;
        request.timeout_ms = 10'000;
        auto& data = request.topic_data.emplace_back();
        data.name = topic;
        data.partition_data.push_back({.index = 1, .records = batch.finish()});
        return request;
    }

    std::vector<std::string> read(const std::string& topic) {
        kafka::FetchRequest request;
        request.max_wait_ms = 100;
        auto& asked = request.topics.emplace_back();
        asked.topic = topic;
        asked.partitions.push_back({.partition = 1, .partition_max_bytes = 1 << 20});
        const auto response = sim_.run(broker_->call<kafka::FetchResponse>(std::move(request), 12));
        LKS_ASSERT(response.ok());
        Bytes left = response->responses.at(0).partitions.at(0).records.value_or(Slices()).join();
        std::vector<std::string> values;
        while (!left.empty()) {
            auto records = codec::RecordReader::open(left, 1 << 20);
            LKS_ASSERT(records.ok());
            for (codec::Record record; records->next(record);) {
                values.emplace_back(
                    reinterpret_cast<const char*>(record.value->data()), record.value->size()
                );
            }
            const std::size_t size = records->header().size();
            left = left.slice(size, left.size() - size);
        }
        return values;
    }

    server::testing::SimNode world_;
    rt::SimTest& sim_ = world_.sim;
    std::unique_ptr<Broker> broker_;
};

TEST_F(Client, WhatWasAcknowledgedSurvivesACrash) {
    ASSERT_TRUE(create("t").ok());
    EXPECT_FALSE(create("t").ok());
    std::vector<std::string> acknowledged;
    for (int i = 0; i < 20; ++i) {
        const std::string value = fmt::format("value {}", i);
        const auto response =
            sim_.run(broker_->call<kafka::ProduceResponse>(produce_request("t", value), 12));
        ASSERT_TRUE(response.ok());
        const auto& answer = response->responses.at(0).partition_responses.at(0);
        ASSERT_EQ(answer.error_code, kafka::ErrorCode::none);
        EXPECT_EQ(answer.base_offset, i);
        acknowledged.push_back(value);
        if (i % 7 == 6) {
            crash();
            start();
        }
    }
    EXPECT_EQ(read("t"), acknowledged);
    const auto ends = sim_.run(load_offsets(*broker_, "t", {0, 1}, end_timestamp));
    ASSERT_TRUE(ends.ok());
    EXPECT_EQ(*ends, (std::vector{Offset(0), Offset(20)}));
    // No record is as late as this: the end of each partition.
    const auto late = sim_.run(load_offsets(*broker_, "t", {0, 1}, 5000));
    ASSERT_TRUE(late.ok());
    EXPECT_EQ(*late, *ends);
}

TEST_F(Client, AnswersComeInTheOrderOfTheRequests) {
    ASSERT_TRUE(create("t").ok());
    std::vector<rt::Future<Result<Bytes>>> answers;
    for (int i = 0; i < 10; ++i) {
        codec::Writer body;
        ASSERT_TRUE(produce_request("t", std::to_string(i)).encode(body, 12).ok());
        answers.push_back(broker_->send(kafka::ApiKey::produce, 12, body.finish()));
    }
    for (int i = 0; i < 10; ++i) {
        const auto wait = [](rt::Future<Result<Bytes>> future) -> rt::Task<Result<Bytes>> {
            co_return co_await std::move(future);
        };
        const auto response = Broker::decode<kafka::ProduceResponse>(
            sim_.run(wait(std::move(answers[static_cast<std::size_t>(i)]))),
            kafka::ApiKey::produce,
            12
        );
        ASSERT_TRUE(response.ok());
        EXPECT_EQ(response->responses.at(0).partition_responses.at(0).base_offset, i);
    }
}

TEST_F(Client, ALostConnectionFailsEveryCall) {
    crash();
    start();
    world_.wires.reset_all("node");
    EXPECT_FALSE(sim_.run(broker_->call<kafka::MetadataResponse>(kafka::MetadataRequest())).ok());
    EXPECT_FALSE(sim_.run(broker_->call<kafka::MetadataResponse>(kafka::MetadataRequest())).ok());
}

TEST_F(Client, SaysWhichTopicIsMissing) {
    const auto topic = sim_.run(load_topic(*broker_, "nowhere"));
    ASSERT_FALSE(topic.ok());
    EXPECT_EQ(topic.error().message, "there is no topic nowhere: see `lakestream topic list`");
}

}  // namespace
}  // namespace lakestream::cli
