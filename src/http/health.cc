// SPDX-License-Identifier: Apache-2.0
// Health as JSON.
#include "http/health.h"

#include <nlohmann/json.hpp>

namespace lakestream::http {

Response Readiness::report() const {
    nlohmann::ordered_json body{{"ready", true}, {"checks", nlohmann::ordered_json::array()}};
    for (const auto& [name, check] : checks_) {
        const Status status = check();
        nlohmann::ordered_json item{{"name", name}, {"ok", status.ok()}};
        if (!status.ok()) {
            item["reason"] = status.error().to_string();
            body["ready"] = false;
        }
        body["checks"].push_back(std::move(item));
    }
    return {
        .status = body["ready"].get<bool>() ? 200 : 503,
        .body = body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n",
    };
}

rt::Task<Response> LiveHandler::handle(Request) {
    co_return Response{.body = "{\"live\":true}\n"};
}

rt::Task<Response> ReadyHandler::handle(Request) {
    co_return readiness_.report();
}

}  // namespace lakestream::http
