// SPDX-License-Identifier: Apache-2.0
// How strong types and errors are printed by fmt.
#pragma once

#include <fmt/format.h>

#include "lakestream/result.h"
#include "lakestream/types.h"

template <>
struct fmt::formatter<lakestream::LogId> : fmt::formatter<std::int64_t> {
    auto format(lakestream::LogId id, fmt::format_context& out) const {
        return fmt::formatter<std::int64_t>::format(id.v, out);
    }
};

template <>
struct fmt::formatter<lakestream::Offset> : fmt::formatter<std::int64_t> {
    auto format(lakestream::Offset offset, fmt::format_context& out) const {
        return fmt::formatter<std::int64_t>::format(offset.v, out);
    }
};

template <>
struct fmt::formatter<lakestream::ErrorCode> : fmt::formatter<std::string_view> {
    auto format(lakestream::ErrorCode code, fmt::format_context& out) const {
        return fmt::formatter<std::string_view>::format(lakestream::to_string(code), out);
    }
};

template <>
struct fmt::formatter<lakestream::Error> : fmt::formatter<std::string_view> {
    auto format(const lakestream::Error& error, fmt::format_context& out) const {
        return fmt::formatter<std::string_view>::format(error.to_string(), out);
    }
};
