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
#include "kafka/handlers/memory_wait.h"

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
/// So long a fetch waits for memory, and then it gets no records. Longer than it takes to hang up
/// on those that do not take theirs.
/// What is remembered of a partition until the response is encoded.
constexpr std::uint64_t part_bytes = sizeof(PartitionRead) + sizeof(Answer);

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
    if (response.responses.empty() || response.responses.back().topic != target.topic->name ||
        response.responses.back().topic_id != target.topic->id) {
        response.responses.push_back(
            {.topic = target.topic->name, .topic_id = target.topic->id, .partitions = {}}
        );
    }
    response.responses.back().partitions.push_back(std::move(answer));
}

Response respond(
    const Call& call, const Request& request, FetchPlan& plan, std::span<PartitionRead> partitions
) {
    rt::Executor& executor = call.shard.executor;
    Response response{.responses = {}};
    Answer answer;
    auto outcome_of = [&, next = partitions.begin()](const FetchTarget& target) mutable {
        answer = answer_of(call, request, target, *next++);
        return FetchOutcome{
            .error = answer.error_code,
            .high_watermark = answer.high_watermark,
            .log_start = answer.log_start_offset,
            .has_records = !answer.records->empty(),
        };
    };
    const auto put = [&](const FetchTarget& target) { add(response, target, std::move(answer)); };
    call.shard.fetch_sessions.answer(plan, executor.now(), executor.rng(), outcome_of, put);
    response.session_id = plan.session_id;
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
    co_await reader.resolve(*plan.reads);
    const std::uint64_t parts = plan.reads->partitions().size() * part_bytes;
    while (true) {
        grant = {};
        if (reader.bytes() == 0 && !co_await wait_for_memory(call)) {
            grant = call.shard.response_memory.take(0);
            break;
        }
        grant = call.shard.response_memory.take(wanted);
        const std::uint64_t bytes_min = std::min(asked_min, grant.bytes());
        const Deadline patience = std::max(deadline, call.shard.executor.now() + read_patience);
        co_await reader.read(bytes_min, grant.bytes(), patience);
        grant.settle(reader.bytes() + parts);
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
