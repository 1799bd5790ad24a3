// SPDX-License-Identifier: Apache-2.0
// Future<T>: a handle to something already submitted. The call orders, the future completes.
#pragma once

#include <concepts>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/result.h"
#include "rt/task.h"

namespace lakestream::rt {

namespace internal {

template <class T>
struct FutureState {
    std::mutex mutex;  // held for a few instructions; completion may come from a foreign thread
    std::optional<T> value;
    Executor* executor = nullptr;  // of the waiter
    std::coroutine_handle<> waiter;
};

}  // namespace internal

/// Awaited at most once, by one coroutine, which goes on on its own executor. Dropping it loses
/// only the answer, never the operation.
template <class T>
class [[nodiscard]] Future {
  public:
    explicit Future(std::shared_ptr<internal::FutureState<T>> state) : state_(std::move(state)) {}

    /// A future that has its value already.
    static Future ready(T value) {
        auto state = std::make_shared<internal::FutureState<T>>();
        state->value.emplace(std::move(value));
        return Future(std::move(state));
    }

    bool await_ready() const noexcept { return false; }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> awaiter) {
        const std::scoped_lock lock(state_->mutex);
        if (state_->value.has_value()) {
            return false;
        }
        state_->executor = awaiter.promise().executor;
        state_->waiter = awaiter;
        return true;
    }

    T await_resume() {
        const std::scoped_lock lock(state_->mutex);
        return std::move(*state_->value);
    }

  private:
    std::shared_ptr<internal::FutureState<T>> state_;
};

/// The side that completes a Future, once, from any thread. One that is dropped without a value
/// completes its future with `cancelled` when T can carry an Error.
template <class T>
class Promise {
  public:
    Promise() : state_(std::make_shared<internal::FutureState<T>>()) {}
    Promise(Promise&&) noexcept = default;
    Promise& operator=(Promise&& other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    Promise(const Promise&) = delete;
    Promise& operator=(const Promise&) = delete;
    ~Promise() {
        if constexpr (std::constructible_from<T, Error>) {
            if (state_) {
                set(T(cancelled("the operation was dropped before it ended")));
            }
        }
    }

    /// Call once, before `set`.
    Future<T> future() { return Future<T>(state_); }

    void set(T value) {
        auto state = std::move(state_);
        LKS_ASSERT(state != nullptr);
        std::coroutine_handle<> waiter;
        {
            const std::scoped_lock lock(state->mutex);
            state->value.emplace(std::move(value));
            waiter = std::exchange(state->waiter, {});
        }
        if (waiter) {
            state->executor->post([waiter] { waiter.resume(); });
        }
    }

    /// Whether it still has to be completed.
    bool pending() const noexcept { return state_ != nullptr; }

  private:
    std::shared_ptr<internal::FutureState<T>> state_;
};

}  // namespace lakestream::rt
