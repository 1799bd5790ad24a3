// SPDX-License-Identifier: Apache-2.0
// A heartbeat to the group's coordinator.
#include "kafka/handlers/heartbeat.h"

#include "codec/kafka/gen/heartbeat_fields.h"
#include "kafka/handlers/group_calls.h"

namespace lakestream::kafka {

namespace {

using Request = HeartbeatHandler::Request;
using Response = HeartbeatHandler::Response;

rt::Task<Response> finish(rt::Future<Result<KafkaError>> heard) {
    const auto error = co_await std::move(heard);
    co_return Response{.error_code = error.ok() ? *error : group_error(error.error())};
}

rt::Task<Response> refuse(KafkaError error) {
    co_return Response{.error_code = error};
}

}  // namespace

rt::Task<Begun<Response>> HeartbeatHandler::begin(Call call, Request request) {
    const KafkaError error = check_group(call, request.group_id, EmptyGroupId::refused);
    if (error != KafkaError::none) {
        co_return Begun<Response>{.rest = refuse(error)};
    }
    groups::MemberClaim member{
        .member_id = std::move(request.member_id),
        .instance_id = std::move(request.group_instance_id),
        .generation = request.generation_id,
    };
    co_return Begun<Response>{
        .rest = finish(call.shard.groups.ask(
            std::move(request.group_id), &groups::Coordinator::heartbeat, std::move(member)
        ))
    };
}

std::optional<Response> HeartbeatHandler::refused(KafkaError error, std::int16_t) {
    return Response{.error_code = error};
}

}  // namespace lakestream::kafka
