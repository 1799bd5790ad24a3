// SPDX-License-Identifier: Apache-2.0
// Signal: wake everybody who waits, inside one executor; StopSource: a request to stop.
#pragma once

#include <coroutine>
#include <utility>

#include "rt/task.h"

namespace lakestream::rt {

/// A condition without memory: `notify_all` wakes those who wait now. Check the condition before
/// and after waiting. All calls on one executor.
class Signal {
  public:
    /// One waiter; lives in the waiting coroutine's frame.
    class Waiter {
      public:
        Waiter(Signal& signal, Deadline deadline) : signal_(signal), deadline_(deadline) {}
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;
        ~Waiter() { leave(); }

        bool await_ready() const noexcept { return false; }

        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> awaiter) {
            executor_ = awaiter.promise().executor;
            handle_ = awaiter;
            enter();
        }

        /// True when notified, false when the deadline came first.
        bool await_resume() const noexcept { return notified_; }

      private:
        friend Signal;
        void enter();
        void leave() noexcept;
        void wake(bool notified);

        Signal& signal_;
        Deadline deadline_;
        Executor* executor_ = nullptr;
        std::coroutine_handle<> handle_;
        TimerId timer_ = TimerId::none;
        bool waiting_ = false;
        bool notified_ = false;
        Waiter* previous_ = nullptr;
        Waiter* next_ = nullptr;
    };

    Signal() = default;
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;
    ~Signal();

    /// `co_await signal.wait(deadline)`: true when notified.
    Waiter wait(Deadline deadline = no_deadline) { return Waiter(*this, deadline); }
    /// Wake all waiters, in the order they came. They run later, not inside this call.
    void notify_all();
    bool has_waiters() const noexcept { return first_ != nullptr; }

  private:
    Waiter* first_ = nullptr;
    Waiter* last_ = nullptr;
};

/// Cancellation as a request: loops look at `requested` after each wait and unwind by themselves.
class StopSource {
  public:
    void request() {
        requested_ = true;
        signal_.notify_all();
    }

    bool requested() const noexcept { return requested_; }

    /// Sleep until `when` or until a stop is requested; true when stopping.
    Task<bool> sleep_until(MonoTime when);

  private:
    bool requested_ = false;
    Signal signal_;
};

}  // namespace lakestream::rt
