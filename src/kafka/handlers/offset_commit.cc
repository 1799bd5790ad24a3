// SPDX-License-Identifier: Apache-2.0
// Offsets of partitions that exist go to the group; the others are answered here.
#include "kafka/handlers/offset_commit.h"

#include "codec/kafka/gen/offset_commit_fields.h"
#include "kafka/handlers/group_calls.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = OffsetCommitHandler::Request;
using Response = OffsetCommitHandler::Response;
using Asked = Request::OffsetCommitRequestPartition;

constexpr std::int16_t first_version_with_ids = 10;

/// Further on than dates go: for ever.
WallTime expiry(WallTime from, std::int64_t retention_ms) {
    std::int64_t end = 0;
    return __builtin_add_overflow(to_ms(from), retention_ms, &end) ? WallTime::max()
                                                                   : wall_from_ms(end);
}

groups::Committed to_committed(
    const Call& call, const Request& request, Asked& asked, const catalog::StreamInfo& stream
) {
    groups::Committed committed{
        .offset = asked.committed_offset,
        .leader_epoch = asked.committed_leader_epoch,
        .at = call.arrived_wall,
        .topic_id = stream.incarnation,
        .metadata = std::move(asked.committed_metadata).value_or(std::string()),
    };
    if (request.retention_time_ms >= 0) {
        committed.expires = expiry(call.arrived_wall, request.retention_time_ms);
    }
    return committed;
}

KafkaError check(const Call& call, const Asked& asked, const Result<catalog::StreamPtr>& stream) {
    if (!stream.ok()) {
        if (stream.is(ErrorCode::not_found)) {
            return call.version >= first_version_with_ids ? KafkaError::unknown_topic_id
                                                          : KafkaError::unknown_topic_or_partition;
        }
        return KafkaError::coordinator_not_available;  // retried by every client
    }
    if (asked.partition_index < 0 ||
        static_cast<std::size_t>(asked.partition_index) >= (*stream)->logs.size()) {
        return KafkaError::unknown_topic_or_partition;
    }
    const bool too_large =
        asked.committed_metadata.has_value() &&
        asked.committed_metadata->size() > call.shard.options.groups.offset_metadata_bytes_max;
    return too_large ? KafkaError::offset_metadata_too_large : KafkaError::none;
}

/// What the group says of all partitions that have no error of their own.
void decide(Response& response, KafkaError error) {
    for (auto& topic : response.topics) {
        for (auto& partition : topic.partitions) {
            if (partition.error_code == KafkaError::none) {
                partition.error_code = error;
            }
        }
    }
}

rt::Task<Response> finish(Response response, rt::Future<Result<KafkaError>> committing) {
    const auto error = co_await std::move(committing);
    decide(response, error.ok() ? *error : group_error(error.error()));
    co_return response;
}

rt::Task<Response> answer(Response response) {
    co_return response;
}

}  // namespace

rt::Task<Begun<Response>> OffsetCommitHandler::begin(Call call, Request request) {
    const KafkaError refused = check_group(call, request.group_id, EmptyGroupId::allowed);
    Response response;
    groups::CommitRequest commit{
        .member =
            {
                .member_id = std::move(request.member_id),
                .instance_id = std::move(request.group_instance_id),
                .generation = request.generation_id_or_member_epoch,
            },
    };
    for (auto& topic : request.topics) {
        auto& answers = response.topics.emplace_back();
        answers.name = topic.name;
        answers.topic_id = topic.topic_id;
        const auto stream =
            co_await load_topic(call.shard.backend.catalog, topic.name, topic.topic_id);
        for (Asked& asked : topic.partitions) {
            const KafkaError error =
                refused != KafkaError::none ? refused : check(call, asked, stream);
            answers.partitions.push_back({
                .partition_index = asked.partition_index,
                .error_code = error,
            });
            if (error == KafkaError::none) {
                commit.offsets.insert_or_assign(
                    groups::OffsetKey{(*stream)->name.name, asked.partition_index},
                    to_committed(call, request, asked, **stream)
                );
            }
        }
    }
    if (commit.offsets.empty()) {
        co_return Begun<Response>{.rest = answer(std::move(response))};
    }
    co_return Begun<Response>{
        .rest = finish(
            std::move(response),
            call.shard.groups.ask(
                std::move(request.group_id), &groups::Coordinator::commit, std::move(commit)
            )
        )
    };
}

}  // namespace lakestream::kafka
