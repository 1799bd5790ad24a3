// SPDX-License-Identifier: Apache-2.0
// Points in time and durations. Where they come from is rt::Clock's business.
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>

namespace lakestream {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;

/// The clock that only goes forward, suspend included: for deadlines, ages and timers.
struct MonoClockTag {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<MonoClockTag>;
    static constexpr bool is_steady = true;
};

/// The wall clock in UTC with millisecond steps: for dates that others read. It may jump.
struct WallClockTag {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<WallClockTag>;
    static constexpr bool is_steady = false;
};

using MonoTime = MonoClockTag::time_point;
using WallTime = WallClockTag::time_point;

/// Absolute end of patience. Deadlines travel down the call tree, durations do not.
using Deadline = MonoTime;
inline constexpr Deadline no_deadline = Deadline::max();

constexpr WallTime wall_from_ms(std::int64_t ms) {
    return WallTime(std::chrono::milliseconds(ms));
}
constexpr std::int64_t to_ms(WallTime t) {
    return t.time_since_epoch().count();
}

}  // namespace lakestream
