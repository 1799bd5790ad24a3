// SPDX-License-Identifier: Apache-2.0
// TaskScope: owns background tasks; stopping requests, closes and waits. There is no detach.
#pragma once

#include <coroutine>
#include <cstddef>
#include <memory>

#include "rt/future.h"
#include "rt/signal.h"
#include "rt/task.h"

namespace lakestream::rt {

namespace internal {
struct ScopeState;
}

/// Every background loop belongs to one. `close` must have ended before the destructor runs, unless
/// the scope is `abandon`ed (the simulator's crash). Runs on one executor; all calls there.
class TaskScope {
  public:
    explicit TaskScope(Executor& executor);
    TaskScope(const TaskScope&) = delete;
    TaskScope& operator=(const TaskScope&) = delete;
    ~TaskScope();

    /// Start a task; it runs soon, not inside this call. Precondition: not closed.
    void spawn(Task<void> task);

    StopSource& stop() noexcept;
    bool stopping() const noexcept;
    /// Request a stop, refuse new tasks, wait for the rest.
    Task<void> close();
    /// Destroy all tasks where they stand. Only for a node that has been cut off from everything.
    void abandon() noexcept;
    std::size_t size() const noexcept;
    Executor& executor() const noexcept { return executor_; }

  private:
    Executor& executor_;
    std::shared_ptr<internal::ScopeState> state_;  // shared with the tasks, which outlive no scope
};

/// Run `task` on `executor`, from any thread; the future completes with its result. The task must
/// not refer to anything that may end before it does.
template <class T>
Future<T> submit(Executor& executor, Task<T> task);

namespace internal {

/// The frame at the bottom of a task started by `submit`: frees itself at the end.
struct Root {
    struct promise_type : PromiseContext {
        Root get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
    };

    std::coroutine_handle<promise_type> handle;
};

/// Owns a frame that has not begun: if the executor drops the work, the frame goes with it.
class PendingRoot {
  public:
    explicit PendingRoot(Root root) : handle_(root.handle) {}
    PendingRoot(PendingRoot&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    PendingRoot& operator=(PendingRoot&&) = delete;
    PendingRoot(const PendingRoot&) = delete;
    PendingRoot& operator=(const PendingRoot&) = delete;
    ~PendingRoot() {
        if (handle_) {
            handle_.destroy();
        }
    }

    void operator()() { std::exchange(handle_, {}).resume(); }

  private:
    std::coroutine_handle<Root::promise_type> handle_;
};

template <class T>
Root run_to_promise(Task<T> task, Promise<T> promise) {
    promise.set(co_await std::move(task));
}

}  // namespace internal

template <class T>
Future<T> submit(Executor& executor, Task<T> task) {
    Promise<T> promise;
    Future<T> future = promise.future();
    internal::Root root = internal::run_to_promise(std::move(task), std::move(promise));
    root.handle.promise().executor = &executor;
    executor.post(internal::PendingRoot(root));
    return future;
}

}  // namespace lakestream::rt
