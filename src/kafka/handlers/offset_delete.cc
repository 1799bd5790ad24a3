// SPDX-License-Identifier: Apache-2.0
// Offsets of partitions that exist, and that no member reads, go.
#include "kafka/handlers/offset_delete.h"

#include "codec/kafka/gen/offset_delete_fields.h"
#include "kafka/handlers/group_calls.h"
#include "kafka/handlers/handler.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = OffsetDeleteHandler::Request;
using Response = OffsetDeleteHandler::Response;
using Removed = std::pair<KafkaError, std::vector<KafkaError>>;

/// Puts each answer into the partition that waits for it. An error of the whole is the response's.
void put(Response& response, const Result<Removed>& removed) {
    if (!removed.ok() || removed->first != KafkaError::none) {
        const KafkaError error = removed.ok() ? removed->first : group_error(removed.error());
        response = Response{.error_code = error};
        return;
    }
    auto answer = removed->second.begin();
    for (auto& topic : response.topics) {
        for (auto& partition : topic.partitions) {
            if (partition.error_code == KafkaError::none) {
                partition.error_code = *answer++;
            }
        }
    }
}

}  // namespace

rt::Task<Response> OffsetDeleteHandler::handle(Call call, Request request) {
    const KafkaError refused = check_group(call, request.group_id, EmptyGroupId::allowed);
    if (refused != KafkaError::none) {
        co_return Response{.error_code = refused};
    }
    Response response;
    std::vector<groups::OffsetKey> offsets;
    for (const auto& topic : request.topics) {
        auto& answers = response.topics.emplace_back();
        answers.name = topic.name;
        const auto stream = co_await load_topic(call.shard.backend.catalog, topic.name, {});
        for (const auto& partition : topic.partitions) {
            const std::int32_t index = partition.partition_index;
            const bool exists = stream.ok() && index >= 0 &&
                                static_cast<std::size_t>(index) < (*stream)->logs.size();
            answers.partitions.push_back({
                .partition_index = index,
                .error_code = exists ? KafkaError::none : KafkaError::unknown_topic_or_partition,
            });
            if (exists) {
                offsets.push_back({topic.name, index});
            }
        }
    }
    put(response,
        co_await call.shard.groups.ask(
            std::move(request.group_id), &groups::Coordinator::remove_offsets, std::move(offsets)
        ));
    co_return response;
}

std::optional<Response> OffsetDeleteHandler::refused(KafkaError error, std::int16_t) {
    return Response{.error_code = error};
}

}  // namespace lakestream::kafka
