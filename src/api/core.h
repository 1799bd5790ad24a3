// SPDX-License-Identifier: Apache-2.0
// Core: what an Engine and its handles share: the node, and the calls that use it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "lakestream/future.h"
#include "lakestream/options.h"
#include "rt/scope.h"
#include "server/running_node.h"

namespace lakestream::api {

/// How often a call that waits looks whether the engine is being closed.
inline constexpr Duration closing_tick = 200ms;
/// Longest wait of one call: what is added to the clock's time must not overflow it.
inline constexpr Duration wait_max = std::chrono::years(1);

/// Counts the calls in progress, so that closing can wait for them. Thread-safe.
class Gate {
  public:
    /// False once it is closed.
    bool enter();
    void leave();
    /// Let nobody in any more, and wait until all have left.
    void close();
    bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

  private:
    std::mutex mutex_;
    std::condition_variable left_;
    std::size_t inside_ = 0;
    std::atomic<bool> closed_{false};
};

/// The node is there while a call is in progress, and gone once `close` has returned; the object
/// itself lives as long as a handle does.
class Core : public std::enable_shared_from_this<Core> {
  public:
    static Result<std::shared_ptr<Core>> open(const EngineOptions& options);

    const std::optional<std::string>& kafka_address() const noexcept { return kafka_address_; }
    const std::string& tables_location() const noexcept { return tables_location_; }
    WallTime now() const { return clock_.wall_now(); }

    /// Call before the last handle goes. Not on the node's threads.
    void close();

    /// Run a call on the first executor, or on the one where `log` lives. Calls of one thread for
    /// one log begin in order.
    template <class T>
    Future<T> call(rt::Task<Result<T>> task, std::optional<LogId> log = std::nullopt);

    // Only for calls in progress.
    server::Node& node() const { return running_->node(); }
    rt::Executor& executor() const { return *node().seams().executors.front(); }
    bool closing() const noexcept { return gate_.closed(); }

  private:
    /// A call in progress. The core outlives it.
    class Pass {
      public:
        explicit Pass(Core& core) : core_(&core) {}
        Pass(Pass&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
        Pass& operator=(Pass&&) = delete;
        Pass(const Pass&) = delete;
        Pass& operator=(const Pass&) = delete;
        ~Pass() {
            if (core_ != nullptr) {
                core_->gate_.leave();
            }
        }

      private:
        Core* core_;
    };

    template <class T>
    static rt::Task<bool> serve(
        Pass pass, rt::Task<Result<T>> task, std::shared_ptr<detail::FutureState<T>> state
    ) {
        const Pass inside = std::move(pass);  // left after the task is gone
        rt::Task<Result<T>> running = std::move(task);
        state->complete(co_await std::move(running));
        co_return true;
    }

    Gate gate_;
    std::unique_ptr<server::RunningNode> running_;
    const rt::SystemClock clock_;
    std::optional<std::string> kafka_address_;
    std::string tables_location_;
};

/// What a call gets from an engine that is closed.
Error closed_error();

template <class T>
Future<T> Core::call(rt::Task<Result<T>> task, std::optional<LogId> log) {
    if (!gate_.enter()) {
        return Future<T>::ready(closed_error());
    }
    auto state = std::make_shared<detail::FutureState<T>>();
    rt::Executor& where = log.has_value() ? node().home_of(*log) : executor();
    static_cast<void>(rt::submit(where, serve<T>(Pass(*this), std::move(task), state)));
    return Future<T>(std::move(state));
}

}  // namespace lakestream::api
