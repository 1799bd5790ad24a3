// SPDX-License-Identifier: Apache-2.0
// Future<T>: the answer to a call that has begun already. The call orders, the future completes.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "lakestream/result.h"

namespace lakestream {

namespace detail {

/// Marks this thread as one that runs a callback of `Future::then`.
class CallbackScope {
  public:
    CallbackScope() noexcept;
    CallbackScope(const CallbackScope&) = delete;
    CallbackScope& operator=(const CallbackScope&) = delete;
    ~CallbackScope();

  private:
    bool outer_;
};

/// Whether this thread runs a callback now: one that waits here would wait for itself.
bool inside_callback() noexcept;

/// Shared by a Future and the operation that completes it.
template <class T>
class FutureState {
  public:
    using Callback = std::move_only_function<void(Result<T>)>;

    /// Once.
    void complete(Result<T> result) {
        Callback callback;
        {
            const std::scoped_lock lock(mutex_);
            if (!callback_) {
                result_.emplace(std::move(result));
                completed_.notify_all();
                return;
            }
            callback = std::move(callback_);
        }
        const CallbackScope scope;
        callback(std::move(result));
    }

    bool ready() const {
        const std::scoped_lock lock(mutex_);
        return result_.has_value();
    }

    /// Whether it is complete after at most `patience`; absent: for ever.
    bool wait(std::optional<std::chrono::milliseconds> patience) {
        std::unique_lock lock(mutex_);
        const auto complete = [this] { return result_.has_value(); };
        if (!patience.has_value()) {
            completed_.wait(lock, complete);
            return true;
        }
        // What is added to the clock's time must not overflow it.
        constexpr std::chrono::milliseconds longest = std::chrono::years(1);
        return completed_.wait_for(lock, std::min(*patience, longest), complete);
    }

    /// Precondition: complete.
    Result<T> take() {
        const std::scoped_lock lock(mutex_);
        return std::move(*result_);
    }

    void then(Callback callback) {
        {
            const std::scoped_lock lock(mutex_);
            if (!result_.has_value()) {
                callback_ = std::move(callback);
                return;
            }
        }
        const CallbackScope scope;
        callback(std::move(*result_));
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable completed_;
    std::optional<Result<T>> result_;
    Callback callback_;
};

}  // namespace detail

/// A handle to something that was submitted when the function that returned it was called: calls of
/// one thread keep their order whether their futures are waited for or not. Dropping a future loses
/// the answer, never the operation. Its answer is taken once, by `get` or by `then`; afterwards the
/// future is empty. One thread at a time uses it.
template <class T>
class [[nodiscard]] Future {
  public:
    explicit Future(std::shared_ptr<detail::FutureState<T>> state) : state_(std::move(state)) {}

    /// A future that has its answer already.
    static Future ready(Result<T> result) {
        auto state = std::make_shared<detail::FutureState<T>>();
        state->complete(std::move(result));
        return Future(std::move(state));
    }

    /// Whether `get` would return at once.
    bool ready() const { return state_ == nullptr || state_->ready(); }

    /// Wait for the answer. Errors: the operation's; `invalid_argument`: the future is empty, or
    /// the caller is a callback of `then`, which would wait for its own thread.
    Result<T> get() { return take(std::nullopt); }

    /// Wait for the answer, but no longer than `patience`. Errors: as `get()`; `outcome_unknown`:
    /// no answer yet. The operation goes on, and `get` may be called again.
    Result<T> get(std::chrono::milliseconds patience) { return take(patience); }

    /// Hand the answer to `callback(Result<T>)`, on one of the engine's threads, or on this one and
    /// at once if the answer is there. The engine's thread does nothing else meanwhile, so a
    /// callback must not block, must not throw, and must not close or destroy the Engine; it may
    /// make further calls and chain their futures. Ignored for an empty future.
    void then(std::move_only_function<void(Result<T>)> callback) {
        if (state_ != nullptr) {
            std::exchange(state_, nullptr)->then(std::move(callback));
        }
    }

  private:
    Result<T> take(std::optional<std::chrono::milliseconds> patience) {
        if (state_ == nullptr) {
            return Error{
                .code = ErrorCode::invalid_argument,
                .message = "the future's answer was taken before",
            };
        }
        if (!state_->ready() && detail::inside_callback()) {
            return Error{
                .code = ErrorCode::invalid_argument,
                .message = "a callback of then() must not wait: chain another then()",
            };
        }
        if (!state_->wait(patience)) {
            return Error{
                .code = ErrorCode::outcome_unknown,
                .message = "no answer yet; the operation goes on: ask again",
            };
        }
        return std::exchange(state_, nullptr)->take();
    }

    std::shared_ptr<detail::FutureState<T>> state_;
};

}  // namespace lakestream
