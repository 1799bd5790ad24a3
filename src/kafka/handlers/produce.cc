// SPDX-License-Identifier: Apache-2.0
// From records to entries, and from outcomes to Kafka's answers.
#include "kafka/handlers/produce.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "codec/kafka/gen/produce_fields.h"
#include "kafka/entries.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = ProduceHandler::Request;
using Response = ProduceHandler::Response;
using Answer = Response::PartitionProduceResponse;

// A slice that is small, and small beside its request, gets a buffer of its own: it may stay in
// memory long after the others of the request have gone.
constexpr std::size_t compact_bytes_max = 16 << 10;
constexpr std::size_t compact_share = 8;

constexpr std::int64_t no_offset = -1;

/// A request whose entries have been submitted.
struct Submitted {
    Response response;
    std::vector<Answer*> waiting;  // inside `response`, one for each entry
    std::vector<log::AppendRequest> entries;
};

void refuse(Answer& answer, KafkaError code, std::string message) {
    answer.error_code = code;
    answer.base_offset = no_offset;
    answer.error_message = std::move(message);
}

Bytes stored_form(const Bytes& payload, std::uint64_t frame_bytes) {
    const bool small =
        payload.size() <= compact_bytes_max && payload.size() * compact_share < frame_bytes;
    return small ? payload.compact() : payload;
}

void check_partition(
    const Call& call,
    const Request::PartitionProduceData& data,
    const catalog::StreamInfo& stream,
    Answer& answer,
    Submitted& submitted
) {
    if (data.index < 0 || static_cast<std::size_t>(data.index) >= stream.logs.size()) {
        refuse(answer, KafkaError::unknown_topic_or_partition, "The topic has no such partition.");
        return;
    }
    auto entry = entry_of_records(
        data.records.value_or(Bytes()), stream.properties, call.version, call.arrived_wall
    );
    if (!entry.has_value()) {
        refuse(answer, entry.error().code, std::move(entry.error().message));
        return;
    }
    entry->log = stream.logs[static_cast<std::size_t>(data.index)];
    entry->payload = stored_form(entry->payload, call.frame_bytes);
    entry->arrived = call.arrived_wall;
    submitted.entries.push_back(std::move(*entry));
    submitted.waiting.push_back(&answer);
}

/// Why a request as a whole is refused; the code is none when it is not.
RecordsRefusal check_request(const Request& request) {
    if (request.acks < -1 || request.acks > 1) {
        return {KafkaError::invalid_required_acks, "acks must be -1, 0 or 1."};
    }
    if (request.transactional_id.has_value()) {
        return {KafkaError::invalid_request, "Transactions are not served by this broker."};
    }
    return {KafkaError::none, {}};
}

rt::Task<void> check_topic(
    Call call, const Request::TopicProduceData& data, Submitted& submitted, std::size_t topic
) {
    std::vector<Answer>& answers = submitted.response.responses[topic].partition_responses;
    const auto stream = co_await load_topic(call.shard.backend.catalog, data.name, data.topic_id);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (stream.ok()) {
            check_partition(call, data.partition_data[i], **stream, answers[i], submitted);
        } else {
            const bool unknown_id = data.name.empty() && stream.is(ErrorCode::not_found);
            refuse(
                answers[i],
                unknown_id ? KafkaError::unknown_topic_id : append_to_kafka(stream.error()),
                stream.error().message
            );
        }
    }
}

Response blank_response(const Request& request) {
    Response response;
    for (const Request::TopicProduceData& topic : request.topic_data) {
        auto& answers = response.responses.emplace_back();
        answers.name = topic.name;
        answers.topic_id = topic.topic_id;
        for (const Request::PartitionProduceData& partition : topic.partition_data) {
            answers.partition_responses.push_back(
                {.index = partition.index, .base_offset = no_offset, .record_errors = {}}
            );
        }
    }
    return response;
}

rt::Task<Response> finish(
    Submitted submitted, rt::Future<std::vector<Result<log::Appended>>> appended
) {
    const auto results = co_await std::move(appended);
    LKS_ASSERT(results.size() == submitted.waiting.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
        Answer& answer = *submitted.waiting[i];
        if (results[i].ok()) {
            answer.base_offset = results[i]->offset.v;
        } else {
            refuse(answer, append_to_kafka(results[i].error()), results[i].error().message);
        }
    }
    co_return std::move(submitted.response);
}

rt::Task<Response> finished(Response response) {
    co_return std::move(response);
}

}  // namespace

rt::Task<Begun<Response>> ProduceHandler::begin(Call call, Request request) {
    const Answered answered = request.acks == 0 ? Answered::no : Answered::yes;
    Submitted submitted{.response = blank_response(request), .waiting = {}, .entries = {}};
    const RecordsRefusal refusal = check_request(request);
    for (std::size_t i = 0; i < request.topic_data.size(); ++i) {
        if (refusal.code == KafkaError::none) {
            co_await check_topic(call, request.topic_data[i], submitted, i);
            continue;
        }
        for (Answer& answer : submitted.response.responses[i].partition_responses) {
            refuse(answer, refusal.code, refusal.message);
        }
    }
    if (submitted.entries.empty()) {
        co_return Begun<Response>{finished(std::move(submitted.response)), answered};
    }
    const BrokerOptions& options = call.shard.options.broker;
    const Duration timeout = std::clamp<Duration>(
        std::chrono::milliseconds(request.timeout_ms),
        options.produce_timeout_min,
        options.produce_timeout_max
    );
    auto appended = call.shard.backend.engine.append(
        std::exchange(submitted.entries, {}), call.arrived + timeout
    );
    co_return Begun<Response>{finish(std::move(submitted), std::move(appended)), answered};
}

}  // namespace lakestream::kafka
