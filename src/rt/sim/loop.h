// SPDX-License-Identifier: Apache-2.0
// SimLoop: one seeded loop with a virtual clock that carries every executor of a simulated world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "rt/executor.h"
#include "rt/offload.h"
#include "rt/timer_queue.h"

namespace lakestream::rt {

class SimLoop;

/// A node's clock: virtual time plus the node's own error.
class SimClock final : public Clock {
  public:
    explicit SimClock(const SimLoop& loop) : loop_(loop) {}

    MonoTime mono_now() const override;
    WallTime wall_now() const override;
    void set_wall_error(std::chrono::milliseconds error) { wall_error_ = error; }

  private:
    const SimLoop& loop_;
    std::chrono::milliseconds wall_error_{0};
};

/// One executor (a shard of a node). Work of one executor runs in order; which executor goes next
/// is the seed's choice. A dead one drops its work and everything posted later.
class SimExecutor final : public Executor {
  public:
    SimExecutor(SimLoop& loop, const Clock& clock, std::uint64_t seed);
    ~SimExecutor() override;

    void post(Work work) override;
    TimerId call_at(MonoTime when, Work work) override;
    void cancel(TimerId timer) override { timers_.cancel(timer); }
    const Clock& clock() const override { return clock_; }
    Rng& rng() override { return rng_; }
    bool here() const override;

    /// Crash: nothing of this executor runs any more. What it held is destroyed with it.
    void kill() { dead_ = true; }
    /// Until `until` nothing runs (SIGSTOP); then it goes on.
    void pause(MonoTime until) { paused_until_ = until; }
    bool dead() const noexcept { return dead_; }

  private:
    friend SimLoop;
    bool runnable() const;
    /// A timer that is due, or the next piece of work. A due timer stays where `cancel` finds it
    /// until it runs. Precondition: runnable.
    Work take(Rng& seed);

    SimLoop& loop_;
    const Clock& clock_;
    Rng rng_;
    TimerQueue timers_;
    std::deque<Work> ready_;
    bool dead_ = false;
    MonoTime paused_until_{};
    std::uint64_t number_ = 0;
};

/// Blocking work under simulation: runs inline on the loop after a random virtual delay.
class SimOffloader final : public Offloader {
  public:
    SimOffloader(SimExecutor& executor, Duration delay_max)
        : executor_(executor), delay_max_(delay_max) {}
    void run(Work work) override;

  private:
    SimExecutor& executor_;
    Duration delay_max_;
};

/// Single-threaded; about a million steps a second. `trace` hashes what ran and when.
class SimLoop {
  public:
    explicit SimLoop(std::uint64_t seed) : rng_(seed) {}
    SimLoop(const SimLoop&) = delete;
    SimLoop& operator=(const SimLoop&) = delete;

    MonoTime now() const noexcept { return now_; }
    Rng& rng() noexcept { return rng_; }
    std::uint64_t trace() const noexcept { return trace_; }
    std::uint64_t steps() const noexcept { return steps_; }

    /// One piece of work, or one jump of the clock; false when nothing is left to do.
    bool step();
    /// Until `done` holds; false when the virtual deadline passes or nothing is left first.
    template <class Predicate>
    bool run_until(Predicate done, MonoTime deadline = MonoTime::max()) {
        while (!done()) {
            if (now_ > deadline || !step()) {
                return false;
            }
        }
        return true;
    }
    /// Everything that is due within `time` of virtual time.
    void run_for(Duration time);

  private:
    friend SimExecutor;
    bool advance_clock(MonoTime limit);
    void note(std::uint64_t number);

    Rng rng_;
    MonoTime now_{std::chrono::hours(1)};
    std::vector<SimExecutor*> executors_;
    std::uint64_t made_ = 0;
    SimExecutor* current_ = nullptr;
    std::uint64_t trace_ = 0xcbf29ce484222325;
    std::uint64_t steps_ = 0;
};

}  // namespace lakestream::rt
