// SPDX-License-Identifier: Apache-2.0
// Error factories with fmt formatting, and the two propagation macros.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "lakestream/result.h"

namespace lakestream {

template <class... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    return Error{.code = code, .message = fmt::format(format, std::forward<Args>(args)...)};
}

// One factory per code: `return not_found("log {}", id);`
template <class... Args>
Error invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::invalid_argument, format, std::forward<Args>(args)...);
}

template <class... Args>
Error unsupported(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::unsupported, format, std::forward<Args>(args)...);
}

template <class... Args>
Error not_found(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::not_found, format, std::forward<Args>(args)...);
}

template <class... Args>
Error already_exists(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::already_exists, format, std::forward<Args>(args)...);
}

template <class... Args>
Error out_of_range(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::out_of_range, format, std::forward<Args>(args)...);
}

template <class... Args>
Error conflict(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::conflict, format, std::forward<Args>(args)...);
}

template <class... Args>
Error fenced(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::fenced, format, std::forward<Args>(args)...);
}

template <class... Args>
Error lease_lost(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::lease_lost, format, std::forward<Args>(args)...);
}

template <class... Args>
Error throttled(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::throttled, format, std::forward<Args>(args)...);
}

template <class... Args>
Error unavailable(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::unavailable, format, std::forward<Args>(args)...);
}

template <class... Args>
Error deadline_exceeded(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::deadline_exceeded, format, std::forward<Args>(args)...);
}

template <class... Args>
Error outcome_unknown(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::outcome_unknown, format, std::forward<Args>(args)...);
}

template <class... Args>
Error exhausted(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::exhausted, format, std::forward<Args>(args)...);
}

template <class... Args>
Error corrupt(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::corrupt, format, std::forward<Args>(args)...);
}

template <class... Args>
Error cancelled(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::cancelled, format, std::forward<Args>(args)...);
}

template <class... Args>
Error internal(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(ErrorCode::internal, format, std::forward<Args>(args)...);
}

}  // namespace lakestream

/// The value of a Result, or return its error from the enclosing function.
#define LKS_TRY(expression)                                            \
    ({                                                                 \
        auto lks_result = (expression);                                \
        if (!lks_result.has_value()) [[unlikely]] {                    \
            return ::lakestream::Error(std::move(lks_result).error()); \
        }                                                              \
        std::move(lks_result).value();                                 \
    })

/// The same inside a coroutine: `auto meta = LKS_CO_TRY(co_await store.head(name));`
#define LKS_CO_TRY(expression)                                            \
    ({                                                                    \
        auto lks_result = (expression);                                   \
        if (!lks_result.has_value()) [[unlikely]] {                       \
            co_return ::lakestream::Error(std::move(lks_result).error()); \
        }                                                                 \
        std::move(lks_result).value();                                    \
    })
