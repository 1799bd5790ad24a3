// SPDX-License-Identifier: Apache-2.0
// Each group is asked where it lives, a few at the same time.
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
constexpr std::int16_t first_version_with_messages = 6;  // and with GROUP_ID_NOT_FOUND

Described unknown(const Call& call, Described answer) {
    answer.group_state = groups::to_string(groups::GroupState::dead);
    if (call.version >= first_version_with_messages) {
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

std::uint64_t bytes_of(const Described& answer) {
    std::uint64_t bytes = sizeof(Described) + answer.group_id.size();
    for (const auto& member : answer.members) {
        bytes += sizeof(member) + member.member_id.size() + member.client_id.size() +
                 member.client_host.size() + member.member_metadata.size() +
                 member.member_assignment.size();
    }
    return bytes;
}

/// What is known of a group before it is asked; and its answer on the way.
struct Question {
    Described answer;
    std::optional<Describing> describing;
};

Question ask(const Call& call, Described answer) {
    answer.error_code = check_group(call, answer.group_id, EmptyGroupId::allowed);
    std::optional<Describing> describing;
    if (answer.error_code == KafkaError::none) {
        describing = call.shard.groups.ask(answer.group_id, &groups::Coordinator::describe);
    }
    return {std::move(answer), std::move(describing)};
}

rt::Task<Described> finish(Call call, Question question) {
    if (!question.describing.has_value()) {
        co_return std::move(question.answer);
    }
    auto group = co_await std::move(*question.describing);
    if (group.ok()) {
        co_return describe(std::move(question.answer), std::move(*group));
    }
    if (group.is(ErrorCode::not_found)) {
        co_return unknown(call, std::move(question.answer));
    }
    question.answer.error_code = group_error(group.error());
    co_return std::move(question.answer);
}

Question refuse(const Call& call, Described answer, KafkaError error, std::string message) {
    answer.error_code = error;
    if (call.version >= first_version_with_messages) {
        answer.error_message = std::move(message);
    }
    return {std::move(answer), std::nullopt};
}

}  // namespace

rt::Task<Response> DescribeGroupsHandler::handle(
    Call call, Request request, ResponseMemory::Grant& grant
) {
    Response response;
    std::uint64_t bytes = 0;
    std::set<std::string_view> seen;  // once each: a short question may have a long answer
    for (std::size_t next = 0; next < request.groups.size();) {
        std::vector<Question> questions;
        for (; next < request.groups.size() && questions.size() < groups_at_once; ++next) {
            Described answer{.group_id = request.groups[next]};
            if (request.include_authorized_operations) {
                answer.authorized_operations = group_operations;
            }
            if (!seen.insert(request.groups[next]).second) {
                questions.push_back(
                    refuse(call, std::move(answer), KafkaError::invalid_request, "Named twice.")
                );
            } else if (bytes > call.shard.options.broker.described_bytes_max) {
                questions.push_back(refuse(
                    call, std::move(answer), too_much_error, "Too much for one response: ask again."
                ));
            } else {
                questions.push_back(ask(call, std::move(answer)));
            }
        }
        for (Question& question : questions) {
            response.groups.push_back(co_await finish(call, std::move(question)));
            bytes += bytes_of(response.groups.back());
            grant.settle(bytes);
        }
    }
    co_return response;
}

}  // namespace lakestream::kafka
