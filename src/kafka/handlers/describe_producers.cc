// SPDX-License-Identifier: Apache-2.0
// What the fold of a log remembers of those who write to it.
#include "kafka/handlers/describe_producers.h"

#include <utility>

#include "codec/kafka/gen/describe_producers_fields.h"
#include "kafka/error_map.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = DescribeProducersHandler::Request;
using Response = DescribeProducersHandler::Response;
using Answer = Response::PartitionResponse;
using Producer = Response::ProducerState;

constexpr std::size_t producers_max = 200'000;  // of one response

Answer failed(std::int32_t partition, KafkaError error, std::string message) {
    Answer answer;
    answer.partition_index = partition;
    answer.error_code = error;
    answer.error_message = std::move(message);
    return answer;
}

rt::Task<Answer> describe(
    Call call, const Result<catalog::StreamPtr>& stream, std::int32_t partition
) {
    if (!stream.ok()) {
        co_return failed(partition, to_kafka(stream.error()), stream.error().message);
    }
    if (partition < 0 || static_cast<std::size_t>(partition) >= (*stream)->logs.size()) {
        co_return failed(
            partition, KafkaError::unknown_topic_or_partition, "The topic has no such partition."
        );
    }
    const LogId log = (*stream)->logs[static_cast<std::size_t>(partition)];
    const auto producers = co_await call.shard.backend.engine.producers(log);
    if (!producers.ok()) {
        co_return failed(partition, to_kafka(producers.error()), producers.error().message);
    }
    Answer answer;
    answer.partition_index = partition;
    for (const log::ActiveProducer& active : *producers) {
        Producer& producer = answer.active_producers.emplace_back();
        producer.producer_id = active.id;
        producer.producer_epoch = active.epoch;
        producer.last_sequence = active.last_sequence;
        producer.last_timestamp = to_ms(active.seen);
        producer.coordinator_epoch = -1;  // without a transaction
    }
    co_return answer;
}

}  // namespace

rt::Task<Response> DescribeProducersHandler::handle(
    Call call, Request request, ResponseMemory::Grant& grant
) {
    Response response;
    std::size_t described = 0;
    for (const Request::TopicRequest& asked : request.topics) {
        auto& topic = response.topics.emplace_back();
        topic.name = asked.name;
        const auto stream = co_await load_topic(call.shard.backend.catalog, asked.name, {});
        for (const std::int32_t partition : asked.partition_indexes) {
            topic.partitions.push_back(
                described < producers_max
                    ? co_await describe(call, stream, partition)
                    : failed(
                          partition,
                          KafkaError::policy_violation,
                          "Too much for one response: ask for fewer partitions."
                      )
            );
            described += topic.partitions.back().active_producers.size();
            grant.settle(described * sizeof(Producer));
        }
    }
    co_return response;
}

}  // namespace lakestream::kafka
