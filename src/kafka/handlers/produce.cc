// SPDX-License-Identifier: Apache-2.0
// From records to entries, and from outcomes to Kafka's answers.
#include "kafka/handlers/produce.h"

#include <algorithm>
#include <chrono>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "codec/kafka/gen/produce_fields.h"
#include "codec/recompress.h"
#include "codec/record_batch.h"
#include "kafka/entries.h"
#include "kafka/topic_configs.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = ProduceHandler::Request;
using Response = ProduceHandler::Response;
using Answer = Response::PartitionProduceResponse;

// A slice that is small, and small beside its request, gets a buffer of its own: it may stay in
// memory long after the others of the request have gone. Batches of a producer's usual 16 KiB for a
// dozen partitions are not copied: that took 5 % of all processor time.
constexpr std::size_t compact_bytes_max = 16 << 10;
constexpr std::size_t compact_share = 16;

// Of one batch, while its records are compressed again.
constexpr std::size_t recompressed_records_bytes_max = 32 << 20;

constexpr std::int64_t no_offset = -1;
constexpr std::int64_t no_time = -1;

/// An entry that waits for its place.
struct Waiting {
    Answer* answer;  // inside the response
    LogId log;
    bool append_time;  // its records have the broker's time
};

/// A request whose entries have been submitted.
struct Submitted {
    Response response;
    std::vector<Waiting> waiting;  // one for each entry
    std::vector<log::AppendRequest> entries;
    std::vector<rt::MemoryAccount::Reservation> recompressed;  // beyond the request's own memory
};

void refuse(Answer& answer, KafkaError code, std::string message) {
    answer.error_code = code;
    answer.base_offset = no_offset;
    answer.log_append_time_ms = no_time;
    answer.error_message = std::move(message);
}

Bytes stored_form(const Bytes& payload, std::uint64_t frame_bytes) {
    const bool small =
        payload.size() <= compact_bytes_max && payload.size() * compact_share < frame_bytes;
    return small ? payload.compact() : payload;
}

/// The entry of a partition, or why there is none.
std::expected<log::AppendRequest, RecordsRefusal> check_partition(
    const Call& call, const Request::PartitionProduceData& data, const catalog::StreamInfo& stream
) {
    if (data.index < 0 || static_cast<std::size_t>(data.index) >= stream.logs.size()) {
        return std::unexpected(RecordsRefusal{
            KafkaError::unknown_topic_or_partition, "The topic has no such partition."
        });
    }
    auto entry = entry_of_records(
        data.records.value_or(Bytes()), stream.properties, call.version, call.arrived_wall
    );
    if (entry.has_value()) {
        entry->log = stream.logs[static_cast<std::size_t>(data.index)];
        entry->payload = stored_form(entry->payload, call.frame_bytes);
        entry->arrived = call.arrived_wall;
    }
    return entry;
}

/// Whether the topic wants a batch in another codec than its producer.
bool is_to_be_recompressed(const log::AppendRequest& entry, const catalog::StreamInfo& stream) {
    const auto wanted = topic_codec(stream.properties);
    return wanted.has_value() && codec::read_batch_header(entry.payload.span())->codec() != *wanted;
}

RecordsRefusal recompression_refused(const Error& error) {
    return error.code == ErrorCode::exhausted
               ? RecordsRefusal{KafkaError::message_too_large, error.message}
               : RecordsRefusal{records_to_kafka(error), error.message};
}

/// Gives the entry its topic's codec, away from the loop. Requests behind this one on its
/// connection wait meanwhile, and so keep their order.
rt::Task<std::expected<rt::MemoryAccount::Reservation, RecordsRefusal>> recompress(
    Call call, const catalog::StreamInfo& stream, log::AppendRequest& entry
) {
    const auto batch_bytes_max =
        static_cast<std::uint64_t>(config_integer(stream.properties, "max.message.bytes"));
    const auto records_bytes_max = std::min(
        recompressed_records_bytes_max,
        static_cast<std::size_t>(config_integer(stream.properties, "max.decompressed.message.bytes")
        )
    );
    const RecordsRefusal crowded{
        KafkaError::not_enough_replicas, "Too many batches are being compressed again."
    };
    auto working = call.shard.recompressed_memory.try_reserve(
        std::min<std::uint64_t>(batch_bytes_max, records_bytes_max)
    );
    if (!working.has_value()) {
        co_return std::unexpected(crowded);
    }
    const auto batch = co_await rt::offload(
        call.shard.backend.offloader,
        [payload = entry.payload, to = *topic_codec(stream.properties), records_bytes_max] {
            return codec::recompress_batch(payload, to, records_bytes_max);
        }
    );
    if (!batch.ok()) {
        co_return std::unexpected(recompression_refused(batch.error()));
    }
    if (batch->size() > batch_bytes_max) {
        co_return std::unexpected(RecordsRefusal{
            KafkaError::message_too_large,
            fmt::format(
                "A batch of {} bytes, as it would be stored; max.message.bytes is {}.",
                batch->size(),
                batch_bytes_max
            )
        });
    }
    working->release();
    auto held = call.shard.recompressed_memory.try_reserve(batch->size());
    if (!held.has_value()) {
        co_return std::unexpected(crowded);
    }
    entry.payload = *batch;
    entry.checked.reset();
    co_return std::move(*held);
}

void submit(
    log::AppendRequest entry,
    const catalog::StreamInfo& stream,
    Answer& answer,
    Submitted& submitted
) {
    const bool append_time = has_append_time(stream.properties);
    if (append_time) {
        answer.log_append_time_ms = entry.max_timestamp;
    }
    submitted.waiting.push_back({&answer, entry.log, append_time});
    submitted.entries.push_back(std::move(entry));
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
        if (!stream.ok()) {
            const bool unknown_id = data.name.empty() && stream.is(ErrorCode::not_found);
            refuse(
                answers[i],
                unknown_id ? KafkaError::unknown_topic_id : append_to_kafka(stream.error()),
                stream.error().message
            );
            continue;
        }
        auto entry = check_partition(call, data.partition_data[i], **stream);
        if (entry.has_value() && is_to_be_recompressed(*entry, **stream)) {
            auto held = co_await recompress(call, **stream, *entry);
            if (held.has_value()) {
                submitted.recompressed.push_back(std::move(*held));
            } else {
                entry = std::unexpected(std::move(held).error());
            }
        }
        if (entry.has_value()) {
            submit(std::move(*entry), **stream, answers[i], submitted);
        } else {
            refuse(answers[i], entry.error().code, std::move(entry.error().message));
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

/// The time that the first copy of a batch was given; -1 when it is gone.
rt::Task<std::int64_t> read_append_time(Call call, LogId log, Offset offset) {
    const auto found =
        co_await call.shard.backend.engine.read({{.log = log, .from = offset, .bytes_max = 1}});
    if (!found.front().ok() || found.front()->entries.empty()) {
        co_return no_time;
    }
    const auto time = codec::newest_timestamp(found.front()->entries.front().payload.span());
    co_return time.ok() ? *time : no_time;
}

rt::Task<Response> finish(
    Call call, Submitted submitted, rt::Future<std::vector<Result<log::Appended>>> appended
) {
    const auto results = co_await std::move(appended);
    LKS_ASSERT(results.size() == submitted.waiting.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Waiting& waiting = submitted.waiting[i];
        Answer& answer = *waiting.answer;
        if (!results[i].ok()) {
            refuse(answer, append_to_kafka(results[i].error()), results[i].error().message);
            continue;
        }
        answer.base_offset = results[i]->offset.v;
        if (waiting.append_time && results[i]->duplicate) {
            answer.log_append_time_ms =
                co_await read_append_time(call, waiting.log, results[i]->offset);
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
    co_return Begun<Response>{finish(call, std::move(submitted), std::move(appended)), answered};
}

}  // namespace lakestream::kafka
