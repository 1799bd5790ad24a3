// SPDX-License-Identifier: Apache-2.0
// A SyncGroup request as the group sees it, and back.
#include "kafka/handlers/sync_group.h"

#include "codec/kafka/gen/sync_group_fields.h"
#include "kafka/handlers/group_calls.h"

namespace lakestream::kafka {

namespace {

using Request = SyncGroupHandler::Request;
using Response = SyncGroupHandler::Response;

constexpr std::int16_t first_version_with_protocol = 5;

KafkaError check(const Call& call, const Request& request) {
    if (call.version >= first_version_with_protocol &&
        (!request.protocol_type.has_value() || !request.protocol_name.has_value())) {
        return KafkaError::inconsistent_group_protocol;
    }
    return check_group(call, request.group_id, EmptyGroupId::refused);
}

rt::Task<Response> finish(rt::Future<Result<groups::SyncAnswer>> syncing) {
    auto answer = co_await std::move(syncing);
    if (!answer.ok()) {
        co_return Response{.error_code = group_error(answer.error())};
    }
    co_return Response{
        .error_code = answer->error,
        .protocol_type = std::move(answer->protocol_type),
        .protocol_name = std::move(answer->protocol_name),
        .assignment = std::move(answer->assignment),
    };
}

rt::Task<Response> refuse(KafkaError error) {
    co_return Response{.error_code = error};
}

}  // namespace

rt::Task<Begun<Response>> SyncGroupHandler::begin(Call call, Request request) {
    const KafkaError error = check(call, request);
    if (error != KafkaError::none) {
        co_return Begun<Response>{.rest = refuse(error)};
    }
    groups::SyncRequest sync{
        .member =
            {.member_id = std::move(request.member_id),
             .instance_id = std::move(request.group_instance_id),
             .generation = request.generation_id},
        .protocol_type = std::move(request.protocol_type),
        .protocol_name = std::move(request.protocol_name),
    };
    for (auto& assignment : request.assignments) {
        sync.assignments.emplace_back(
            std::move(assignment.member_id), std::move(assignment.assignment)
        );
    }
    co_return Begun<Response>{
        .rest = finish(call.shard.groups.ask(
            std::move(request.group_id), &groups::Coordinator::sync, std::move(sync)
        ))
    };
}

std::optional<Response> SyncGroupHandler::refused(KafkaError error, std::int16_t) {
    return Response{.error_code = error};
}

}  // namespace lakestream::kafka
