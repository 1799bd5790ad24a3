// SPDX-License-Identifier: Apache-2.0
// The sink of log::line on spdlog.
#include "server/log_sink.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/assert.h"
#include "rt/epoll/loop.h"

namespace lakestream::server {

namespace {

/// What the sink needs, made once: a sink is a plain function.
struct Output {
    std::mutex mutex;
    RepeatFilter repeats;
    rt::SystemClock clock;
    spdlog::logger logger{"lakestream", std::make_shared<spdlog::sinks::stderr_sink_mt>()};

    Output() {
        logger.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc);
        logger.set_level(spdlog::level::trace);
        logger.flush_on(spdlog::level::trace);
    }
};

Output& output() {
    static Output instance;
    return instance;
}

constexpr std::string_view level_names[] = {"debug", "info", "warn", "error"};

void write_line(log::Level level, std::string_view module, std::string_view text) noexcept {
    Output& out = output();
    const std::string_view event = text.substr(0, text.find(' '));
    RepeatFilter::Verdict verdict;
    if (level != log::Level::debug) {
        const std::scoped_lock lock(out.mutex);
        verdict = out.repeats.admit(fmt::format("{} {}", module, event), out.clock.mono_now());
    }
    if (!verdict.write) {
        return;
    }
    const std::string_view name = level_names[static_cast<std::size_t>(level)];
    if (verdict.left_out > 0) {
        out.logger.info("{} {} {} left_out={}", name, module, event, verdict.left_out);
    }
    out.logger.info("{} {} {}", name, module, text);
}

}  // namespace

RepeatFilter::Verdict RepeatFilter::admit(std::string_view event, MonoTime now) {
    auto found = events_.find(event);
    if (found == events_.end()) {
        if (events_.size() >= events_max) {
            std::erase_if(events_, [&](const auto& one) {
                return one.second.window_begin + window <= now;
            });
        }
        if (events_.size() >= events_max) {
            return {};
        }
        found = events_.emplace(event, State{.window_begin = now}).first;
    }
    State& state = found->second;
    if (now >= state.window_begin + window) {
        state.window_begin = now;
        state.lines = 0;
    }
    if (state.lines >= lines_per_window) {
        ++state.left_out;
        return {.write = false};
    }
    ++state.lines;
    return {.left_out = std::exchange(state.left_out, 0)};
}

log::Level log_level(std::string_view name) {
    const auto* found = std::ranges::find(level_names, name);
    LKS_ASSERT(found != std::end(level_names));
    return static_cast<log::Level>(found - std::begin(level_names));
}

void install_log_sink(log::Level threshold) {
    output();
    log::set_sink(&write_line, threshold);
}

}  // namespace lakestream::server
