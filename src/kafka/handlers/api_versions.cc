// SPDX-License-Identifier: Apache-2.0
// Answers from the table of served APIs.
#include "kafka/handlers/api_versions.h"

#include <algorithm>
#include <string_view>

#include "codec/kafka/gen/api_versions_fields.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

namespace {

/// KIP-511: letters and digits, with `-` and `.` inside.
bool is_software_text(std::string_view text) {
    const auto alphanumeric = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !text.empty() && alphanumeric(text.front()) && alphanumeric(text.back()) &&
           std::ranges::all_of(text, [&](char c) {
               return alphanumeric(c) || c == '-' || c == '.';
           });
}

ApiVersionsHandler::Response::ApiVersion advertised(const Api& api) {
    return {
        .api_key = static_cast<std::int16_t>(api.key),
        .min_version = api.advertised_min,
        .max_version = api.versions.last,
    };
}

}  // namespace

rt::Task<ApiVersionsHandler::Response> ApiVersionsHandler::handle(Call call, Request request) {
    Response response;
    if (call.version >= 3) {
        if (!is_software_text(request.client_software_name) ||
            !is_software_text(request.client_software_version)) {
            response.error_code = KafkaError::invalid_request;
            co_return response;
        }
        call.peer.software_name = std::move(request.client_software_name);
        call.peer.software_version = std::move(request.client_software_version);
    }
    // KIP-1242: a client that meant another cluster or broker has to begin anew.
    const Cluster& cluster = call.shard.backend.cluster;
    if ((request.cluster_id.has_value() && *request.cluster_id != cluster.id) ||
        (request.node_id >= 0 && request.node_id != cluster.self)) {
        response.error_code = KafkaError::rebootstrap_required;
    }
    for (const Api& api : served_apis()) {
        response.api_keys.push_back(advertised(api));
    }
    co_return response;
}

std::optional<ApiVersionsHandler::Response> ApiVersionsHandler::refused(
    KafkaError error, std::int16_t
) {
    return Response{.error_code = error};
}

Reply ApiVersionsHandler::unknown_version(const Call& call) {
    const Response response{
        .error_code = KafkaError::unsupported_version,
        .api_keys = {advertised(*find_served(static_cast<std::int16_t>(call.api)))},
    };
    return encode_reply(call, response, 0);
}

}  // namespace lakestream::kafka
