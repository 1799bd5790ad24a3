// SPDX-License-Identifier: Apache-2.0
// Logging front end: level, module, event name, key=value. Pure modules do not log; they return.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace lakestream::log {

enum class Level : std::uint8_t { debug, info, warn, error };

/// Where finished lines go. Called from any thread; must not throw.
using Sink = void (*)(Level level, std::string_view module, std::string_view text) noexcept;

/// Install the process's sink and threshold. The default writes warnings and errors to stderr.
/// Call before threads start.
void set_sink(Sink sink, Level threshold) noexcept;

bool enabled(Level level) noexcept;
void write(Level level, std::string_view module, std::string_view text) noexcept;

/// `log::warn("wal", "put_failed object={} error={}", name, error);`: event name first, then
/// key=value pairs. No secrets, no payloads.
template <class... Args>
void line(
    Level level, std::string_view module, fmt::format_string<Args...> format, Args&&... args
) {
    if (enabled(level)) {
        write(level, module, fmt::format(format, std::forward<Args>(args)...));
    }
}

template <class... Args>
void debug(std::string_view module, fmt::format_string<Args...> format, Args&&... args) {
    line(Level::debug, module, format, std::forward<Args>(args)...);
}

template <class... Args>
void info(std::string_view module, fmt::format_string<Args...> format, Args&&... args) {
    line(Level::info, module, format, std::forward<Args>(args)...);
}

template <class... Args>
void warn(std::string_view module, fmt::format_string<Args...> format, Args&&... args) {
    line(Level::warn, module, format, std::forward<Args>(args)...);
}

template <class... Args>
void error(std::string_view module, fmt::format_string<Args...> format, Args&&... args) {
    line(Level::error, module, format, std::forward<Args>(args)...);
}

}  // namespace lakestream::log
