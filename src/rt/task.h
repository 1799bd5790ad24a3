// SPDX-License-Identifier: Apache-2.0
// Task<T>: a lazy coroutine with one owner, awaited exactly once.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "rt/executor.h"

namespace lakestream::rt {

/// What every coroutine of ours carries: the executor it runs on, inherited from its awaiter.
struct PromiseContext {
    Executor* executor = nullptr;
};

template <class T>
class Task;

namespace internal {

struct TaskPromiseBase : PromiseContext {
    std::coroutine_handle<> continuation;

    struct FinalAwaiter {
        bool await_ready() const noexcept { return false; }

        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
            return self.promise().continuation;
        }

        void await_resume() const noexcept {}
    };

    std::suspend_always initial_suspend() const noexcept { return {}; }
    FinalAwaiter final_suspend() const noexcept { return {}; }
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
};

template <class T>
struct TaskPromise : TaskPromiseBase {
    std::optional<T> value;

    Task<T> get_return_object() noexcept;

    template <class U>
    void return_value(U&& result) {
        value.emplace(std::forward<U>(result));
    }

    T take() { return std::move(*value); }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
    Task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
    void take() const noexcept {}
};

}  // namespace internal

/// Nothing runs until it is awaited; it then runs on the awaiter's executor. Destroying a task that
/// was never awaited runs nothing. Long chains of awaits do not grow the stack.
template <class T>
class [[nodiscard, clang::coro_return_type, clang::coro_lifetimebound]] Task {
  public:
    using promise_type = internal::TaskPromise<T>;
    using Handle = std::coroutine_handle<promise_type>;

    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() {
        if (handle_) {
            handle_.destroy();
        }
    }

    bool await_ready() const noexcept { return false; }

    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> awaiter) noexcept {
        handle_.promise().executor = awaiter.promise().executor;
        handle_.promise().continuation = awaiter;
        return handle_;
    }

    T await_resume() { return handle_.promise().take(); }

  private:
    friend promise_type;
    explicit Task(Handle handle) noexcept : handle_(handle) {}

    Handle handle_;
};

namespace internal {

template <class T>
Task<T> TaskPromise<T>::get_return_object() noexcept {
    return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

inline Task<void> TaskPromise<void>::get_return_object() noexcept {
    return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

}  // namespace internal

/// `Executor& executor = co_await this_executor();`
struct ThisExecutor {
    Executor* executor = nullptr;

    bool await_ready() const noexcept { return false; }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> awaiter) noexcept {
        executor = awaiter.promise().executor;
        return false;
    }

    Executor& await_resume() const noexcept { return *executor; }
};

inline ThisExecutor this_executor() {
    return {};
}

/// Sleep until `when`; cannot be interrupted. Use StopSource::sleep_until in background loops.
struct SleepUntil {
    MonoTime when;

    bool await_ready() const noexcept { return false; }

    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> awaiter) {
        awaiter.promise().executor->call_at(when, [awaiter] { awaiter.resume(); });
    }

    void await_resume() const noexcept {}
};

inline SleepUntil sleep_until(MonoTime when) {
    return {when};
}

/// Let everything else that is ready run first.
struct Yield {
    bool await_ready() const noexcept { return false; }

    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> awaiter) {
        awaiter.promise().executor->post([awaiter] { awaiter.resume(); });
    }

    void await_resume() const noexcept {}
};

inline Yield yield() {
    return {};
}

}  // namespace lakestream::rt
