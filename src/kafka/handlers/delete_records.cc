// SPDX-License-Identifier: Apache-2.0
// Each partition is trimmed by the engine, a few side by side.
#include "kafka/handlers/delete_records.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/kafka/gen/delete_records_fields.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"
#include "rt/scope.h"

namespace lakestream::kafka {

namespace {

using Request = DeleteRecordsHandler::Request;
using Response = DeleteRecordsHandler::Response;
using Asked = Request::DeleteRecordsPartition;
using Answer = Response::DeleteRecordsPartitionResult;

constexpr std::int64_t up_to_high_watermark = -1;
constexpr std::int64_t no_low_watermark = -1;
constexpr std::size_t trims_at_once_max = 8;

struct Trim {
    Answer* answer;
    LogId log;
    std::int64_t offset;
};

/// Of a topic whose records go one by one, by key, only the newest of each key may be missed.
bool only_compacts(const catalog::StreamInfo& stream) {
    const auto policy = stream.properties.find("cleanup.policy");
    return policy != stream.properties.end() && policy->second == "compact";
}

KafkaError check(const Asked& asked, const Result<catalog::StreamPtr>& stream) {
    if (!stream.ok()) {
        return to_kafka(stream.error());
    }
    if (asked.partition_index < 0 ||
        static_cast<std::size_t>(asked.partition_index) >= (*stream)->logs.size()) {
        return KafkaError::unknown_topic_or_partition;
    }
    if (is_internal_topic((*stream)->name.name)) {
        return KafkaError::invalid_topic_exception;
    }
    if (only_compacts(**stream)) {
        return KafkaError::policy_violation;
    }
    return asked.offset < up_to_high_watermark ? KafkaError::offset_out_of_range : KafkaError::none;
}

/// Takes trims from the queue until it is empty. Several run side by side.
rt::Task<bool> run_trims(Call call, std::deque<Trim>& queue) {
    while (!queue.empty()) {
        const Trim trim = queue.front();
        queue.pop_front();
        const auto to =
            trim.offset == up_to_high_watermark ? std::nullopt : std::optional(Offset(trim.offset));
        const auto bounds = co_await call.shard.backend.engine.trim(trim.log, to);
        if (bounds.ok()) {
            trim.answer->low_watermark = bounds->start.v;
        } else {
            trim.answer->error_code = to_kafka(bounds.error());
        }
    }
    co_return true;
}

}  // namespace

rt::Task<Response> DeleteRecordsHandler::handle(Call call, Request request) {
    Response response;
    response.topics.resize(request.topics.size());
    std::deque<Trim> trims;
    for (std::size_t t = 0; t < request.topics.size(); ++t) {
        const auto& topic = request.topics[t];
        auto& answers = response.topics[t];
        answers.name = topic.name;
        answers.partitions.resize(topic.partitions.size());
        const auto stream = co_await load_topic(call.shard.backend.catalog, topic.name, {});
        for (std::size_t p = 0; p < topic.partitions.size(); ++p) {
            const Asked& asked = topic.partitions[p];
            Answer& answer = answers.partitions[p];
            answer.partition_index = asked.partition_index;
            answer.low_watermark = no_low_watermark;
            answer.error_code = check(asked, stream);
            if (answer.error_code == KafkaError::none) {
                const auto partition = static_cast<std::size_t>(asked.partition_index);
                trims.push_back({&answer, (*stream)->logs[partition], asked.offset});
            }
        }
    }
    std::vector<rt::Future<bool>> running;
    const std::size_t workers = std::min(trims.size(), trims_at_once_max);
    for (std::size_t i = 0; i < workers; ++i) {
        running.push_back(rt::submit(call.shard.executor, run_trims(call, trims)));
    }
    for (rt::Future<bool>& worker : running) {
        co_await std::move(worker);
    }
    co_return response;
}

}  // namespace lakestream::kafka
