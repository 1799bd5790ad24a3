// SPDX-License-Identifier: Apache-2.0
// One HTTP request to a node: health, status, metrics.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lakestream::cli {

struct HttpAnswer {
    int status = 0;
    std::string body;
};

/// GET `path` from `address`, HOST:PORT; at most 64 MiB and 30 s. Errors: `unavailable` (nobody
/// there, or it does not speak HTTP), `deadline_exceeded`, `exhausted`.
Result<HttpAnswer> http_get(const std::string& address, std::string_view path);

/// The answer in `text`, all that a server sent before it closed. Errors: `corrupt`.
Result<HttpAnswer> parse_http_answer(std::string_view text);

}  // namespace lakestream::cli
