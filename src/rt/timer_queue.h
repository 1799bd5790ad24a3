// SPDX-License-Identifier: Apache-2.0
// TimerQueue: timers in order of time, then of making; shared by the executors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "rt/executor.h"

namespace lakestream::rt {

/// Value-like part of an executor; not thread-safe.
class TimerQueue {
  public:
    TimerId add(MonoTime when, Work work) {
        const std::uint64_t id = ++last_id_;
        timers_.emplace(std::pair(when, id), std::move(work));
        when_.emplace(id, when);
        return TimerId(id);
    }

    void cancel(TimerId timer) {
        const auto id = static_cast<std::uint64_t>(timer);
        if (const auto found = when_.find(id); found != when_.end()) {
            timers_.erase(std::pair(found->second, id));
            when_.erase(found);
        }
    }

    /// When the next timer is due; none when there is none.
    std::optional<MonoTime> next() const {
        return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first.first);
    }

    /// Take the first timer that is due at `now`; none when none is.
    std::optional<Work> pop_due(MonoTime now) {
        if (timers_.empty() || timers_.begin()->first.first > now) {
            return std::nullopt;
        }
        auto node = timers_.extract(timers_.begin());
        when_.erase(node.key().second);
        return std::move(node.mapped());
    }

    void clear() {
        timers_.clear();
        when_.clear();
    }

  private:
    std::uint64_t last_id_ = 0;
    std::map<std::pair<MonoTime, std::uint64_t>, Work> timers_;
    std::unordered_map<std::uint64_t, MonoTime> when_;  // looked up by id only, never walked
};

}  // namespace lakestream::rt
