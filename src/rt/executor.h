// SPDX-License-Identifier: Apache-2.0
// Executor: a single-threaded run loop with timers.
#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"
#include "rt/clock.h"
#include "rt/rng.h"

namespace lakestream::rt {

/// A piece of work. Resuming a coroutine fits without an allocation.
using Work = std::move_only_function<void()>;

/// Names a timer of one executor; 0 names none.
enum class TimerId : std::uint64_t { none = 0 };

/// Runs work one piece after the other. One per core in production; under simulation many share one
/// seeded loop. Everything but `post` and `clock` belongs to the executor's own thread.
class Executor {
  public:
    virtual ~Executor() = default;

    /// Run `work` later, after everything this thread posted before. From any thread.
    virtual void post(Work work) = 0;
    /// Run `work` at `when` or soon after. Own thread only.
    virtual TimerId call_at(MonoTime when, Work work) = 0;
    /// Drop a timer that has not run; anything else is ignored. Own thread only.
    virtual void cancel(TimerId timer) = 0;
    virtual const Clock& clock() const = 0;
    /// Own thread only.
    virtual Rng& rng() = 0;
    /// Whether the caller runs on this executor.
    virtual bool here() const = 0;

    MonoTime now() const { return clock().mono_now(); }
};

}  // namespace lakestream::rt
