// SPDX-License-Identifier: Apache-2.0
// All groups, filtered by state and type as Kafka does: without regard to case.
#include "kafka/handlers/list_groups.h"

#include <algorithm>

#include "codec/kafka/gen/list_groups_fields.h"
#include "kafka/handlers/group_calls.h"
#include "kafka/handlers/handler.h"
#include "kafka/handlers/memory_wait.h"

namespace lakestream::kafka {

namespace {

using Response = ListGroupsHandler::Response;

constexpr std::string_view only_type = "Classic";

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool passes(const std::vector<std::string>& filter, std::string_view value) {
    return filter.empty() || std::ranges::any_of(filter, [&](const std::string& wanted) {
               return std::ranges::equal(wanted, value, {}, lower, lower);
           });
}

}  // namespace

rt::Task<Response> ListGroupsHandler::handle(
    Call call, Request request, ResponseMemory::Grant& grant
) {
    // One at a time, and the next when what this one holds has been counted.
    const auto turn = co_await call.shard.listing_groups.acquire(1);
    if (!co_await wait_for_memory(call)) {
        co_return Response{.error_code = too_much_error};
    }
    const auto groups = co_await call.shard.groups.list();
    Response response;
    if (!groups.ok()) {
        response.error_code = group_error(groups.error());
        co_return response;
    }
    std::uint64_t bytes = groups->size() * sizeof(groups::ListedGroup);
    for (const groups::ListedGroup& group : *groups) {
        bytes += group.id.size() + group.protocol_type.size();
        const std::string_view state = groups::to_string(group.state);
        if (passes(request.states_filter, state) && passes(request.types_filter, only_type)) {
            response.groups.push_back({
                .group_id = group.id,
                .protocol_type = group.protocol_type,
                .group_state = std::string(state),
                .group_type = std::string(only_type),
            });
            bytes += sizeof(Response::ListedGroup) + group.id.size() + group.protocol_type.size();
        }
    }
    grant.settle(bytes);
    co_return response;
}

std::optional<Response> ListGroupsHandler::refused(KafkaError error, std::int16_t) {
    return Response{.error_code = error};
}

}  // namespace lakestream::kafka
