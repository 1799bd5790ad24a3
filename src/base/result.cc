// SPDX-License-Identifier: Apache-2.0
// Names of error codes, and how an error reads.
#include "base/result.h"

namespace lakestream {

std::string_view to_string(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument: return "invalid_argument";
        case ErrorCode::unsupported: return "unsupported";
        case ErrorCode::not_found: return "not_found";
        case ErrorCode::already_exists: return "already_exists";
        case ErrorCode::out_of_range: return "out_of_range";
        case ErrorCode::conflict: return "conflict";
        case ErrorCode::fenced: return "fenced";
        case ErrorCode::lease_lost: return "lease_lost";
        case ErrorCode::throttled: return "throttled";
        case ErrorCode::unavailable: return "unavailable";
        case ErrorCode::deadline_exceeded: return "deadline_exceeded";
        case ErrorCode::outcome_unknown: return "outcome_unknown";
        case ErrorCode::exhausted: return "exhausted";
        case ErrorCode::corrupt: return "corrupt";
        case ErrorCode::cancelled: return "cancelled";
        case ErrorCode::internal: return "internal";
    }
    return "internal";
}

Error Error::with_context(std::string_view context) && {
    message = fmt::format("{}: {}", context, message);
    return std::move(*this);
}

std::string Error::to_string() const {
    return fmt::format("{}: {}", lakestream::to_string(code), message);
}

}  // namespace lakestream
