// SPDX-License-Identifier: Apache-2.0
// The process's log: lines on stderr, repeated ones counted instead of written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/time.h"

namespace lakestream::server {

/// Lets a few lines of each event through per window. Not thread-safe. Bounded: when it counts too
/// many events, lines of further ones all come through.
class RepeatFilter {
  public:
    static constexpr Duration window = 10s;
    static constexpr std::uint32_t lines_per_window = 20;
    static constexpr std::size_t events_max = 1000;

    struct Verdict {
        bool write = true;
        std::uint64_t left_out = 0;  // lines of this event since the last one that was written
    };

    /// `event`: module and event name.
    Verdict admit(std::string_view event, MonoTime now);

  private:
    struct State {
        MonoTime window_begin;
        std::uint32_t lines = 0;
        std::uint64_t left_out = 0;
    };

    std::map<std::string, State, std::less<>> events_;
};

/// `debug`, `info`, `warn` or `error`. Precondition: one of these.
log::Level log_level(std::string_view name);

/// Send log lines to stderr as `time level module event key=value`. Call before threads start.
void install_log_sink(log::Level threshold);

}  // namespace lakestream::server
