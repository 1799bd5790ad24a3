// SPDX-License-Identifier: Apache-2.0
// The process's log sink.
#include "base/log.h"

#include <atomic>
#include <cstdio>

namespace lakestream::log {

namespace {

void write_to_stderr(Level level, std::string_view module, std::string_view text) noexcept {
    static constexpr const char* names[] = {"debug", "info", "warn", "error"};
    std::fprintf(
        stderr,
        "%s %.*s %.*s\n",
        names[static_cast<int>(level)],
        static_cast<int>(module.size()),
        module.data(),
        static_cast<int>(text.size()),
        text.data()
    );
}

// The two process-wide variables of the house: a log line must be possible from anywhere.
std::atomic<Sink> process_sink{&write_to_stderr};
std::atomic<Level> process_threshold{Level::warn};

}  // namespace

void set_sink(Sink sink, Level threshold) noexcept {
    process_sink.store(sink);
    process_threshold.store(threshold);
}

bool enabled(Level level) noexcept {
    return level >= process_threshold.load(std::memory_order_relaxed);
}

void write(Level level, std::string_view module, std::string_view text) noexcept {
    process_sink.load(std::memory_order_relaxed)(level, module, text);
}

}  // namespace lakestream::log
