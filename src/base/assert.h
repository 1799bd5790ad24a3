// SPDX-License-Identifier: Apache-2.0
// Assertions for our own bugs. They stay on in release and never look at outside input.
#pragma once

#include <source_location>

namespace lakestream {

/// Print the failed condition and where it stood, then abort.
[[noreturn]] void assertion_failed(const char* condition, std::source_location where) noexcept;

}  // namespace lakestream

#define LKS_ASSERT(condition)     \
    (static_cast<bool>(condition) \
         ? static_cast<void>(0)   \
         : ::lakestream::assertion_failed(#condition, std::source_location::current()))

#define LKS_UNREACHABLE() \
    ::lakestream::assertion_failed("unreachable", std::source_location::current())
