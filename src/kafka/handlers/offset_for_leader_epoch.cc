// SPDX-License-Identifier: Apache-2.0
// No epoch here ends before the log does: records that were acknowledged stay.
#include "kafka/handlers/offset_for_leader_epoch.h"

#include <utility>
#include <vector>

#include "codec/kafka/gen/offset_for_leader_epoch_fields.h"
#include "kafka/error_map.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = OffsetForLeaderEpochHandler::Request;
using Response = OffsetForLeaderEpochHandler::Response;
using Asked = Request::OffsetForLeaderPartition;
using Answer = Response::EpochEndOffset;

KafkaError check(const Call& call, const Asked& asked, const Result<catalog::StreamPtr>& stream) {
    const std::int32_t epoch = call.shard.backend.cluster.leader_epoch;
    if (!stream.ok()) {
        return to_kafka(stream.error());
    }
    if (asked.partition < 0 ||
        static_cast<std::size_t>(asked.partition) >= (*stream)->logs.size()) {
        return KafkaError::unknown_topic_or_partition;
    }
    if (asked.current_leader_epoch >= 0 && asked.current_leader_epoch < epoch) {
        return KafkaError::fenced_leader_epoch;
    }
    return asked.current_leader_epoch > epoch ? KafkaError::unknown_leader_epoch : KafkaError::none;
}

/// Answers that wait for the end of their log.
struct Waiting {
    std::vector<LogId> logs;
    std::vector<Answer*> answers;
};

rt::Task<void> answer_ends(Call call, Waiting waiting) {
    const auto bounds = co_await call.shard.backend.engine.bounds(std::move(waiting.logs));
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        Answer& answer = *waiting.answers[i];
        if (bounds[i].ok()) {
            answer.leader_epoch = call.shard.backend.cluster.leader_epoch;
            answer.end_offset = bounds[i]->high_watermark.v;
        } else {
            answer.error_code = to_kafka(bounds[i].error());
        }
    }
}

}  // namespace

rt::Task<Response> OffsetForLeaderEpochHandler::handle(Call call, Request request) {
    Response response;
    for (const auto& topic : request.topics) {
        auto& answers = response.topics.emplace_back();
        answers.topic = topic.topic;
        answers.partitions.resize(topic.partitions.size());
    }
    Waiting waiting;
    for (std::size_t t = 0; t < request.topics.size(); ++t) {
        const auto& topic = request.topics[t];
        const auto stream = co_await load_topic(call.shard.backend.catalog, topic.topic, {});
        for (std::size_t p = 0; p < topic.partitions.size(); ++p) {
            const Asked& asked = topic.partitions[p];
            Answer& answer = response.topics[t].partitions[p];
            answer.partition = asked.partition;
            answer.error_code = check(call, asked, stream);
            // Of an epoch that never was, nothing is known: -1, -1.
            const bool known = asked.leader_epoch >= 0 &&
                               asked.leader_epoch <= call.shard.backend.cluster.leader_epoch;
            if (answer.error_code == KafkaError::none && known) {
                waiting.logs.push_back((*stream)->logs[static_cast<std::size_t>(asked.partition)]);
                waiting.answers.push_back(&answer);
            }
        }
    }
    co_await answer_ends(call, std::move(waiting));
    co_return response;
}

}  // namespace lakestream::kafka
