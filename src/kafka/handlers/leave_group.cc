// SPDX-License-Identifier: Apache-2.0
// One member (before version 3) or several leave.
#include "kafka/handlers/leave_group.h"

#include "codec/kafka/gen/leave_group_fields.h"
#include "kafka/handlers/group_calls.h"

namespace lakestream::kafka {

namespace {

using Request = LeaveGroupHandler::Request;
using Response = LeaveGroupHandler::Response;
using Leaving = rt::Future<Result<std::vector<groups::Left>>>;

constexpr std::int16_t first_version_of_many = 3;

std::vector<groups::MemberClaim> members_of(const Call& call, Request& request) {
    std::vector<groups::MemberClaim> members;
    if (call.version < first_version_of_many) {
        members.push_back({.member_id = std::move(request.member_id)});
    }
    for (auto& member : request.members) {
        members.push_back({
            .member_id = std::move(member.member_id),
            .instance_id = std::move(member.group_instance_id),
        });
    }
    return members;
}

rt::Task<Response> finish(std::int16_t version, Leaving leaving) {
    auto left = co_await std::move(leaving);
    if (!left.ok()) {
        const bool unknown = left.is(ErrorCode::not_found);
        co_return Response{
            .error_code = unknown ? KafkaError::unknown_member_id : group_error(left.error())
        };
    }
    Response response;
    if (version < first_version_of_many) {
        response.error_code = left->front().error;
        co_return response;
    }
    for (groups::Left& member : *left) {
        response.members.push_back({
            .member_id = std::move(member.member.member_id),
            .group_instance_id = std::move(member.member.instance_id),
            .error_code = member.error,
        });
    }
    co_return response;
}

rt::Task<Response> refuse(KafkaError error) {
    co_return Response{.error_code = error};
}

}  // namespace

rt::Task<Begun<Response>> LeaveGroupHandler::begin(Call call, Request request) {
    const KafkaError error = check_group(call, request.group_id, EmptyGroupId::refused);
    if (error != KafkaError::none) {
        co_return Begun<Response>{.rest = refuse(error)};
    }
    auto members = members_of(call, request);
    co_return Begun<Response>{
        .rest = finish(
            call.version,
            call.shard.groups.ask(
                std::move(request.group_id), &groups::Coordinator::leave, std::move(members)
            )
        )
    };
}

std::optional<Response> LeaveGroupHandler::refused(KafkaError error, std::int16_t) {
    return Response{.error_code = error};
}

}  // namespace lakestream::kafka
