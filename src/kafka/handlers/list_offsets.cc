// SPDX-License-Identifier: Apache-2.0
// Ends come from one call of the engine; searches by time run side by side.
#include "kafka/handlers/list_offsets.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "codec/kafka/gen/list_offsets_fields.h"
#include "kafka/entries.h"
#include "kafka/handlers/handler.h"
#include "kafka/time_search.h"
#include "kafka/topics.h"
#include "rt/scope.h"

namespace lakestream::kafka {

namespace {

using Request = ListOffsetsHandler::Request;
using Response = ListOffsetsHandler::Response;
using Asked = Request::ListOffsetsPartition;
using Answer = Response::ListOffsetsPartitionResponse;

// Timestamps that are questions of another kind.
constexpr std::int64_t latest = -1;
constexpr std::int64_t earliest = -2;
constexpr std::int64_t max_timestamp = -3;            // of the record with the largest timestamp
constexpr std::int64_t earliest_local = -4;           // all is equally local: the start
constexpr std::int64_t latest_tiered = -5;            // no tiers: none
constexpr std::int64_t earliest_pending_upload = -6;  // no tiers: none

constexpr std::int16_t first_version_with_epoch = 4;

/// One partition on its way to an answer.
struct Search {
    Answer* answer;
    LogId log;
    std::int64_t timestamp;
    log::LogBounds bounds{};
};

bool is_known(std::int64_t timestamp, std::int16_t version) {
    switch (timestamp) {
        case latest:
        case earliest: return true;
        case max_timestamp: return version >= 7;
        case earliest_local: return version >= 8;
        case latest_tiered: return version >= 9;
        case earliest_pending_upload: return version >= 11;
        default: return timestamp >= 0;
    }
}

KafkaError check(
    const Call& call, const Asked& asked, const Result<catalog::StreamPtr>& stream, bool repeated
) {
    const std::int32_t epoch = call.shard.backend.cluster.leader_epoch;
    if (repeated) {
        return KafkaError::invalid_request;
    }
    if (!is_known(asked.timestamp, call.version)) {
        return KafkaError::unsupported_version;
    }
    if (!stream.ok()) {
        return to_kafka(stream.error());
    }
    if (asked.partition_index < 0 ||
        static_cast<std::size_t>(asked.partition_index) >= (*stream)->logs.size()) {
        return KafkaError::unknown_topic_or_partition;
    }
    if (asked.current_leader_epoch >= 0 && asked.current_leader_epoch < epoch) {
        return KafkaError::fenced_leader_epoch;
    }
    return asked.current_leader_epoch > epoch ? KafkaError::unknown_leader_epoch : KafkaError::none;
}

void put(const Call& call, Answer& answer, std::optional<RecordTime> found) {
    if (found.has_value()) {
        answer.offset = found->offset.v;
        answer.timestamp = found->timestamp;
        if (call.version >= first_version_with_epoch) {
            answer.leader_epoch = call.shard.backend.cluster.leader_epoch;
        }
    }
}

void answer_end(const Call& call, const Search& search) {
    switch (search.timestamp) {
        case latest: return put(call, *search.answer, RecordTime{search.bounds.high_watermark});
        case earliest:
        case earliest_local: return put(call, *search.answer, RecordTime{search.bounds.start});
        default: return;  // no tiers: the answer is -1
    }
}

/// Takes searches from the queue until it is empty. Several run side by side.
rt::Task<bool> run_searches(Call call, std::deque<Search>& queue) {
    while (!queue.empty()) {
        const Search search = queue.front();
        queue.pop_front();
        TimeSearch& by_time = call.shard.time_search;
        const auto found = co_await (
            search.timestamp == max_timestamp
                ? by_time.find_latest(search.log, search.bounds.start)
                : by_time.find_since(search.log, search.bounds, search.timestamp)
        );
        if (found.ok()) {
            put(call, *search.answer, *found);
        } else {
            log::warn("kafka", "time_search_failed log={} error={}", search.log, found.error());
            search.answer->error_code = to_kafka(found.error());
        }
    }
    co_return true;
}

rt::Task<void> answer_all(Call call, std::vector<Search> searches) {
    std::vector<LogId> logs;
    for (const Search& search : searches) {
        logs.push_back(search.log);
    }
    const auto bounds = co_await call.shard.backend.engine.bounds(std::move(logs));
    std::deque<Search> by_time;
    for (std::size_t i = 0; i < searches.size(); ++i) {
        Search& search = searches[i];
        if (!bounds[i].ok()) {
            search.answer->error_code = to_kafka(bounds[i].error());
            continue;
        }
        search.bounds = *bounds[i];
        if (search.timestamp >= 0 || search.timestamp == max_timestamp) {
            by_time.push_back(search);
        } else {
            answer_end(call, search);
        }
    }
    std::vector<rt::Future<bool>> running;
    const std::size_t workers =
        std::min(by_time.size(), call.shard.options.broker.time_searches_max);
    for (std::size_t i = 0; i < workers; ++i) {
        running.push_back(rt::submit(call.shard.executor, run_searches(call, by_time)));
    }
    for (rt::Future<bool>& worker : running) {
        co_await std::move(worker);
    }
}

}  // namespace

rt::Task<Response> ListOffsetsHandler::handle(Call call, Request request) {
    Response response;
    std::set<std::pair<std::string, std::int32_t>> seen;
    for (const auto& topic : request.topics) {
        auto& answers = response.topics.emplace_back();
        answers.name = topic.name;
        answers.partitions.resize(topic.partitions.size());
    }
    std::vector<Search> searches;
    for (std::size_t t = 0; t < request.topics.size(); ++t) {
        const auto& topic = request.topics[t];
        const auto stream = co_await load_topic(call.shard.backend.catalog, topic.name, {});
        for (std::size_t p = 0; p < topic.partitions.size(); ++p) {
            const Asked& asked = topic.partitions[p];
            Answer& answer = response.topics[t].partitions[p];
            answer.partition_index = asked.partition_index;
            const bool repeated = !seen.emplace(topic.name, asked.partition_index).second;
            answer.error_code = check(call, asked, stream, repeated);
            if (answer.error_code == KafkaError::none) {
                searches.push_back({
                    .answer = &answer,
                    .log = (*stream)->logs[static_cast<std::size_t>(asked.partition_index)],
                    .timestamp = asked.timestamp,
                });
            }
        }
    }
    co_await answer_all(call, std::move(searches));
    co_return response;
}

}  // namespace lakestream::kafka
