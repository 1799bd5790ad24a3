// SPDX-License-Identifier: Apache-2.0
// Loop: the production executor, one epoll loop on one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "rt/executor.h"
#include "rt/timer_queue.h"

namespace lakestream::rt {

/// The clocks of the machine: CLOCK_BOOTTIME and the UTC wall clock.
class SystemClock final : public Clock {
  public:
    MonoTime mono_now() const override;
    WallTime wall_now() const override;
};

/// A generator seeded from the operating system.
Rng system_rng();

/// Told about readiness of a file descriptor, edge-triggered, on the loop's thread.
class FdHandler {
  public:
    virtual ~FdHandler() = default;
    /// `readable`/`writable` are also set on errors and hang-ups: try, and the call will tell.
    virtual void on_ready(bool readable, bool writable) = 0;
};

/// One thread runs `run` until `stop`. Messages from other threads cost one atomic exchange, and
/// one wake-up per batch: only a loop that sleeps is woken. What other threads post is bounded by
/// what they admit (bytes of requests), not here.
class Loop final : public Executor {
  public:
    explicit Loop(const Clock& clock);
    ~Loop() override;

    void post(Work work) override;
    TimerId call_at(MonoTime when, Work work) override {
        return timers_.add(when, std::move(work));
    }
    void cancel(TimerId timer) override { timers_.cancel(timer); }
    const Clock& clock() const override { return clock_; }
    Rng& rng() override { return rng_; }
    bool here() const override { return thread_.load() == std::this_thread::get_id(); }

    /// Run on this thread until `stop` is called and everything posted before it has run.
    void run();
    /// From any thread.
    void stop();

    /// Watch a descriptor until `unwatch`. Loop thread only.
    void watch(int fd, FdHandler& handler);
    /// No call to the handler comes after this. Loop thread only.
    void unwatch(int fd, FdHandler& handler);

    /// How long the last round of work took, 0 when the loop sleeps: background threads stand back
    /// when it is long. From any thread.
    Duration lag() const noexcept { return Duration(lag_ns_.load(std::memory_order_relaxed)); }

  private:
    struct Message {
        Work work;
        Message* next = nullptr;
    };

    void take_inbox();
    void run_ready();
    void wait_for_events();
    void wake();

    const Clock& clock_;
    Rng rng_;
    int epoll_fd_ = -1;
    int wake_fd_ = -1;
    TimerQueue timers_;
    std::deque<Work> ready_;
    std::vector<FdHandler*> unwatched_;  // during one round of events
    std::atomic<Message*> inbox_{nullptr};
    std::atomic<bool> sleeping_{false};
    std::atomic<bool> stopping_{false};
    std::atomic<std::thread::id> thread_{};
    std::atomic<std::int64_t> lag_ns_{0};
};

}  // namespace lakestream::rt
