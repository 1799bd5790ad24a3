// SPDX-License-Identifier: Apache-2.0
// Changing the configurations of resources, for both APIs that do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "kafka/handlers/config_resources.h"

namespace lakestream::kafka {

enum class Validate : bool { and_change, only };

/// What one resource was told; the code is none when it was done.
using AlterOutcome = ConfigRefusal;

/// Make of a topic's properties what `change` says, whose `invalid_argument` is INVALID_CONFIG. A
/// broker's settings do not change while it runs; other resources have none.
rt::Task<AlterOutcome> alter_resource(
    Call call,
    std::int8_t type,
    std::string name,
    catalog::PropertiesChange change,
    Validate validate
);

/// Answer each resource of a request. `change_of` makes of a resource what is to be done to a
/// topic's properties; its errors are INVALID_REQUEST.
template <class Handler>
rt::Task<typename Handler::Response> alter_each(
    Call call,
    typename Handler::Request request,
    Result<catalog::PropertiesChange> (*change_of)(
        const typename Handler::Request::AlterConfigsResource& asked
    )
) {
    const Validate validate = request.validate_only ? Validate::only : Validate::and_change;
    std::map<std::pair<std::int8_t, std::string>, int> times;
    for (const auto& asked : request.resources) {
        ++times[{asked.resource_type, asked.resource_name}];
    }
    typename Handler::Response response;
    for (const auto& asked : request.resources) {
        AlterOutcome outcome;
        if (times[{asked.resource_type, asked.resource_name}] > 1) {
            outcome = {KafkaError::invalid_request, "Each resource must appear at most once."};
        } else if (response.responses.size() >= call.shard.options.broker.topics_per_request_max) {
            outcome = {KafkaError::policy_violation, "Too many resources in one request."};
        } else if (auto change = change_of(asked); !change.ok()) {
            outcome = {KafkaError::invalid_request, change.error().message};
        } else {
            outcome = co_await alter_resource(
                call, asked.resource_type, asked.resource_name, std::move(*change), validate
            );
        }
        auto& answer = response.responses.emplace_back();
        answer.error_code = outcome.code;
        answer.error_message = std::nullopt;
        if (outcome.code != KafkaError::none) {
            answer.error_message = std::move(outcome.message);
        }
        answer.resource_type = asked.resource_type;
        answer.resource_name = asked.resource_name;
    }
    co_return response;
}

}  // namespace lakestream::kafka
