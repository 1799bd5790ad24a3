// SPDX-License-Identifier: Apache-2.0
// A JoinGroup request as the group sees it, and back.
#include "kafka/handlers/join_group.h"

#include <chrono>

#include "base/uuid.h"
#include "codec/kafka/gen/join_group_fields.h"
#include "kafka/handlers/group_calls.h"

namespace lakestream::kafka {

namespace {

using Request = JoinGroupHandler::Request;
using Response = JoinGroupHandler::Response;

constexpr std::int16_t first_version_asking_again = 4;
constexpr std::int16_t first_version_skipping_assignment = 9;

Response failed(KafkaError error, std::string member_id) {
    return Response{.error_code = error, .member_id = std::move(member_id)};
}

/// The part of a member id that says whose it is: whole characters, or clients read another id.
std::string_view name_of(std::string_view name) {
    if (name.size() <= groups::member_name_bytes_max) {
        return name;
    }
    std::size_t end = groups::member_name_bytes_max;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    return name.substr(0, end);
}

groups::JoinRequest to_join(const Call& call, Request& request) {
    const std::chrono::milliseconds session(request.session_timeout_ms);
    const std::string& name = request.group_instance_id.value_or(call.peer.client_id);
    groups::JoinRequest join{
        .member_id = std::move(request.member_id),
        .fresh_id = fmt::format(
            "{}-{}", name_of(name), uuid_text(make_uuid(call.shard.executor.rng().bytes16()))
        ),
        .instance_id = std::move(request.group_instance_id),
        .client_id = call.peer.client_id,
        .client_host = fmt::format("/{}", call.peer.address.host),
        .session_timeout = session,
        .rebalance_timeout = request.rebalance_timeout_ms >= 0
                                 ? std::chrono::milliseconds(request.rebalance_timeout_ms)
                                 : session,
        .protocol_type = std::move(request.protocol_type),
    };
    for (auto& protocol : request.protocols) {
        join.protocols.push_back({
            .name = std::move(protocol.name),
            .metadata = protocol.metadata.compact(),
        });
    }
    if (call.version >= first_version_asking_again) {
        join.id_policy = groups::IdPolicy::ask_again;
    }
    if (call.version >= first_version_skipping_assignment) {
        join.skip_assignment = groups::SkipAssignment::supported;
    }
    return join;
}

rt::Task<Response> finish(rt::Future<Result<groups::JoinAnswer>> joining) {
    auto answer = co_await std::move(joining);
    if (!answer.ok()) {
        co_return failed(group_error(answer.error()), {});
    }
    Response response{
        .error_code = answer->error,
        .generation_id = answer->generation,
        .protocol_type = std::move(answer->protocol_type),
        .protocol_name = answer->protocol_name.value_or(""),
        .leader = std::move(answer->leader),
        .skip_assignment = answer->skip_assignment,
        .member_id = std::move(answer->member_id),
    };
    for (auto& member : answer->members) {
        response.members.push_back({
            .member_id = std::move(member.id),
            .group_instance_id = std::move(member.instance_id),
            .metadata = std::move(member.metadata),
        });
    }
    co_return response;
}

rt::Task<Response> refuse(Response response) {
    co_return response;
}

}  // namespace

rt::Task<Begun<Response>> JoinGroupHandler::begin(Call call, Request request) {
    const KafkaError error = check_group(call, request.group_id, EmptyGroupId::refused);
    if (error != KafkaError::none) {
        co_return Begun<Response>{.rest = refuse(failed(error, std::move(request.member_id)))};
    }
    auto join = to_join(call, request);
    co_return Begun<Response>{
        .rest = finish(call.shard.groups.ask(
            std::move(request.group_id), &groups::Coordinator::join, std::move(join)
        ))
    };
}

std::optional<Response> JoinGroupHandler::refused(KafkaError error, std::int16_t) {
    return failed(error, {});
}

}  // namespace lakestream::kafka
