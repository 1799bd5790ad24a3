// SPDX-License-Identifier: Apache-2.0
// Each group is told where it lives, all at the same time.
#include "kafka/handlers/delete_groups.h"

#include "codec/kafka/gen/delete_groups_fields.h"
#include "kafka/handlers/group_calls.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

namespace {

using Request = DeleteGroupsHandler::Request;
using Response = DeleteGroupsHandler::Response;
using Removing = rt::Future<Result<KafkaError>>;

}  // namespace

rt::Task<Response> DeleteGroupsHandler::handle(Call call, Request request) {
    Response response;
    std::vector<std::optional<Removing>> removing;
    for (const std::string& group : request.groups_names) {
        const KafkaError error = check_group(call, group, EmptyGroupId::allowed);
        response.results.push_back({.group_id = group, .error_code = error, .error_message = {}});
        auto& removal = removing.emplace_back();
        if (error == KafkaError::none) {
            removal = call.shard.groups.ask(group, &groups::Coordinator::remove);
        }
    }
    for (std::size_t i = 0; i < removing.size(); ++i) {
        if (removing[i].has_value()) {
            const auto removed = co_await std::move(*removing[i]);
            response.results[i].error_code = removed.ok() ? *removed : group_error(removed.error());
        }
    }
    co_return response;
}

}  // namespace lakestream::kafka
