// SPDX-License-Identifier: Apache-2.0
// RequestMemory: bytes that the requests of one shard may hold, given as they arrive.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <utility>

#include "base/assert.h"
#include "base/metrics.h"
#include "rt/executor.h"
#include "rt/task.h"

namespace lakestream::kafka {

/// A small request is admitted beside the large ones that wait: an eighth of the memory is its own.
enum class RequestSize : bool { small, large };

/// A request takes memory for its next part when it is about to read that part. Rules and the proof
/// that nobody waits for ever: docs/protocols/kafka-connection.md. Held at most: `bytes`, an
/// eighth more for small requests, and what one request takes. Belongs to a shard, used on its
/// executor.
class RequestMemory {
  public:
    /// What one request holds. Move-only, not while it grows; returned when destroyed.
    class Units {
      public:
        Units(RequestMemory& memory, RequestSize size)
            : memory_(&memory), id_(++memory.last_id_), size_(size) {}
        Units(Units&& other) noexcept
            : memory_(std::exchange(other.memory_, nullptr)),
              id_(other.id_),
              size_(other.size_),
              count_(other.count_) {}
        Units& operator=(Units&&) = delete;
        ~Units() {
            if (memory_ != nullptr) {
                memory_->give_back(*this);
            }
        }

      private:
        friend RequestMemory;
        RequestMemory* memory_;
        std::uint64_t id_;
        RequestSize size_;
        std::uint64_t count_ = 0;
    };

    struct Growth {
        Units& units;
        std::uint64_t added;

        bool await_ready() const { return units.memory_->take_now(units, added); }

        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> awaiter) {
            units.memory_->wait(units, added, awaiter, awaiter.promise().executor);
        }

        void await_resume() const noexcept { units.count_ += added; }
    };

    /// `waited` counts who had to wait; `held` is raised and lowered by what is held.
    RequestMemory(std::uint64_t bytes, metrics::Counter& waited, metrics::Gauge& held)
        : bytes_(bytes), reserve_(bytes / 8), waited_(waited), held_(held) {}
    RequestMemory(const RequestMemory&) = delete;
    RequestMemory& operator=(const RequestMemory&) = delete;

    /// `co_await memory.grow(units, n)`: until `units` hold `n` bytes. Precondition: `n` is not
    /// less than they hold.
    Growth grow(Units& units, std::uint64_t count) {
        LKS_ASSERT(units.memory_ == this && count >= units.count_);
        return {units, count - units.count_};
    }

    /// Whether anybody waits.
    bool contended() const noexcept {
        return !growing_.empty() || !large_.empty() || !small_.empty();
    }

  private:
    struct Waiter {
        std::uint64_t id;
        std::uint64_t added;
        std::coroutine_handle<> handle;
        rt::Executor* executor;
    };
    using Queue = std::deque<Waiter>;

    Queue& queue_of(const Units& units) noexcept;
    bool fits(const Queue& queue, std::uint64_t id, std::uint64_t added) const noexcept;
    void take(const Queue& queue, std::uint64_t id, std::uint64_t added);
    bool take_now(const Units& units, std::uint64_t added);
    void wait(
        const Units& units,
        std::uint64_t added,
        std::coroutine_handle<> awaiter,
        rt::Executor* executor
    );
    void give_back(const Units& units);
    void admit(Queue& queue);

    const std::uint64_t bytes_;
    const std::uint64_t reserve_;  // for small requests
    metrics::Counter& waited_;
    metrics::Gauge& held_;
    std::uint64_t small_held_ = 0;
    std::uint64_t large_held_ = 0;
    std::uint64_t last_id_ = 0;
    std::uint64_t beyond_ = 0;  // the one request that grows beyond the limit; 0 = none
    Queue growing_;             // large ones that hold something
    Queue large_;               // large ones that hold nothing yet
    Queue small_;
};

}  // namespace lakestream::kafka
