// SPDX-License-Identifier: Apache-2.0
// Sessions, reading, waiting, and the response.
#include "kafka/handlers/fetch.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "codec/kafka/gen/fetch_fields.h"
#include "kafka/entries.h"
#include "kafka/fetch_reader.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

namespace {

using Request = FetchHandler::Request;
using Response = FetchHandler::Response;
using Answer = Response::PartitionData;

constexpr std::int8_t read_committed = 1;
constexpr std::int16_t first_version_with_error = 7;
/// So long is read what is on the object store, or as long as the client would wait for appends.
/// Then it gets what is there, and asks for more.
constexpr auto read_patience = std::chrono::milliseconds(500);

/// The records of a partition, with offsets. Damage makes it an error.
Slices stamped_records(const Call& call, PartitionRead& partition) {
    Slices records;
    for (const log::ReadEntry& entry : partition.entries) {
        auto stamped = stamp_entry(entry, partition.from, call.shard.backend.cluster.leader_epoch);
        if (!stamped.ok()) {
            log::error(
                "kafka",
                "entry_not_readable log={} offset={} error={}",
                partition.log,
                entry.range.begin,
                stamped.error()
            );
            if (records.empty()) {
                partition.error = to_kafka(stamped.error());
            }
            break;
        }
        records.append(*stamped);
    }
    return records;
}

Answer answer_of(
    const Call& call, const Request& request, const FetchTarget& target, PartitionRead& partition
) {
    Slices records = stamped_records(call, partition);
    Answer answer{
        .partition_index = target.partition,
        .error_code = partition.error,
        .high_watermark = partition.bounds.high_watermark.v,
        .last_stable_offset = partition.bounds.high_watermark.v,
        .log_start_offset = partition.bounds.start.v,
        .records = std::move(records),
    };
    if (request.isolation_level != read_committed) {
        answer.aborted_transactions.reset();
    }
    return answer;
}

/// Partitions of one topic that follow each other share an element.
void add(Response& response, const FetchTarget& target, Answer answer) {
    if (response.responses.empty() || response.responses.back().topic != target.topic ||
        response.responses.back().topic_id != target.topic_id) {
        response.responses.push_back(
            {.topic = target.topic, .topic_id = target.topic_id, .partitions = {}}
        );
    }
    response.responses.back().partitions.push_back(std::move(answer));
}

Response respond(
    const Call& call, const Request& request, FetchPlan& plan, std::span<PartitionRead> partitions
) {
    std::vector<Answer> answers;
    std::vector<FetchOutcome> outcomes;
    answers.reserve(partitions.size());
    outcomes.reserve(partitions.size());
    for (std::size_t i = 0; i < partitions.size(); ++i) {
        const Answer& answer =
            answers.emplace_back(answer_of(call, request, plan.targets[i], partitions[i]));
        outcomes.push_back({
            .error = answer.error_code,
            .high_watermark = answer.high_watermark,
            .log_start = answer.log_start_offset,
            .has_records = !answer.records->empty(),
        });
    }
    rt::Executor& executor = call.shard.executor;
    const std::vector<bool> included =
        call.shard.fetch_sessions.answer(plan, outcomes, executor.now(), executor.rng());
    Response response{.session_id = plan.session_id, .responses = {}};
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (included[i]) {
            add(response, plan.targets[i], std::move(answers[i]));
        }
    }
    return response;
}

}  // namespace

rt::Task<Response> FetchHandler::handle(Call call, Request request, ResponseMemory::Grant& grant) {
    FetchPlan plan =
        call.shard.fetch_sessions.open(request, call.version, call.shard.executor.now());
    if (plan.error != KafkaError::none) {
        co_return Response{.error_code = plan.error, .responses = {}};
    }
    const std::uint64_t wanted = std::min<std::uint64_t>(
        static_cast<std::uint64_t>(std::max(request.max_bytes, 0)),
        call.shard.options.broker.fetch_bytes_max
    );
    const auto asked_min = static_cast<std::uint64_t>(std::max(request.min_bytes, 0));
    const Deadline deadline =
        call.arrived + std::chrono::milliseconds(std::max(request.max_wait_ms, 0));

    FetchReader reader(call);
    co_await reader.resolve(plan.targets);
    while (true) {
        grant = {};
        grant = call.shard.response_memory.take(wanted);
        const std::uint64_t bytes_min = std::min(asked_min, grant.bytes());
        const Deadline patience = std::max(deadline, call.shard.executor.now() + read_patience);
        co_await reader.read(bytes_min, grant.bytes(), patience);
        grant.settle(reader.bytes());
        if (reader.bytes() >= bytes_min || reader.failed() || !co_await reader.wait(deadline)) {
            break;
        }
    }
    co_await reader.look();
    co_return respond(call, request, plan, reader.partitions());
}

std::optional<Response> FetchHandler::refused(KafkaError error, std::int16_t version) {
    return version >= first_version_with_error
               ? std::optional(Response{.error_code = error, .responses = {}})
               : std::nullopt;
}

}  // namespace lakestream::kafka
