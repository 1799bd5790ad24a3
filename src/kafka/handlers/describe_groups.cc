// SPDX-License-Identifier: Apache-2.0
// Each group is asked where it lives, all at the same time.
#include "kafka/handlers/describe_groups.h"

#include <set>

#include "codec/kafka/gen/describe_groups_fields.h"
#include "kafka/handlers/group_calls.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

namespace {

using Request = DescribeGroupsHandler::Request;
using Response = DescribeGroupsHandler::Response;
using Described = Response::DescribedGroup;
using Describing = rt::Future<Result<groups::GroupDescription>>;

// Bit n = ACL operation n. Without an authorizer, all that apply to a group: 3, 6, 8, 10, 11.
constexpr std::int32_t group_operations = 0b1101'0100'1000;
constexpr std::int16_t first_version_with_not_found = 6;

Described unknown(const Call& call, Described answer) {
    answer.group_state = groups::to_string(groups::GroupState::dead);
    if (call.version >= first_version_with_not_found) {
        answer.error_code = KafkaError::group_id_not_found;
        answer.error_message = fmt::format("Group {} not found.", answer.group_id);
    }
    return answer;
}

Described describe(Described answer, groups::GroupDescription group) {
    answer.group_state = groups::to_string(group.state);
    answer.protocol_type = std::move(group.protocol_type);
    answer.protocol_data = std::move(group.protocol_name);
    for (auto& member : group.members) {
        answer.members.push_back({
            .member_id = std::move(member.id),
            .group_instance_id = std::move(member.instance_id),
            .client_id = std::move(member.client_id),
            .client_host = std::move(member.client_host),
            .member_metadata = std::move(member.metadata),
            .member_assignment = std::move(member.assignment),
        });
    }
    return answer;
}

}  // namespace

rt::Task<Response> DescribeGroupsHandler::handle(Call call, Request request) {
    Response response;
    std::vector<std::pair<Described, std::optional<Describing>>> asked;
    std::set<std::string_view> seen;  // once each: a short question may have a long answer
    for (const std::string& group : request.groups) {
        auto& [answer, describing] = asked.emplace_back(Described{.group_id = group}, std::nullopt);
        if (request.include_authorized_operations) {
            answer.authorized_operations = group_operations;
        }
        answer.error_code = seen.insert(group).second
                                ? check_group(call, group, EmptyGroupId::allowed)
                                : KafkaError::invalid_request;
        if (answer.error_code == KafkaError::none) {
            describing = call.shard.groups.ask(group, &groups::Coordinator::describe);
        }
    }
    for (auto& [answer, describing] : asked) {
        if (!describing.has_value()) {
            response.groups.push_back(std::move(answer));
            continue;
        }
        auto group = co_await std::move(*describing);
        if (group.ok()) {
            response.groups.push_back(describe(std::move(answer), std::move(*group)));
        } else if (group.is(ErrorCode::not_found)) {
            response.groups.push_back(unknown(call, std::move(answer)));
        } else {
            answer.error_code = group_error(group.error());
            response.groups.push_back(std::move(answer));
        }
    }
    co_return response;
}

}  // namespace lakestream::kafka
