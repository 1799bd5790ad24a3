// SPDX-License-Identifier: Apache-2.0
// SharedSemaphore: a bounded number of units, given in the order of asking, for all executors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "rt/future.h"

namespace lakestream::rt {

/// As Semaphore, but thread-safe: units are asked for and dropped on any thread. A request larger
/// than the whole is granted when nothing else is held. What a waiter that is gone is granted comes
/// back at once. Outlives its units.
class SharedSemaphore {
  public:
    /// The right to use some units. Move-only; returns them when destroyed.
    class Units {
      public:
        Units() = default;
        Units(Units&& other) noexcept
            : semaphore_(std::exchange(other.semaphore_, nullptr)), count_(other.count_) {}
        Units& operator=(Units&& other) noexcept {
            std::swap(semaphore_, other.semaphore_);
            std::swap(count_, other.count_);
            return *this;
        }
        Units(const Units&) = delete;
        Units& operator=(const Units&) = delete;
        ~Units() {
            if (semaphore_ != nullptr) {
                semaphore_->give_back(count_);
            }
        }

      private:
        friend SharedSemaphore;
        Units(SharedSemaphore& semaphore, std::uint64_t count)
            : semaphore_(&semaphore), count_(count) {}

        SharedSemaphore* semaphore_ = nullptr;
        std::uint64_t count_ = 0;
    };

    explicit SharedSemaphore(std::uint64_t units) : units_(units) {}
    SharedSemaphore(const SharedSemaphore&) = delete;
    SharedSemaphore& operator=(const SharedSemaphore&) = delete;
    ~SharedSemaphore() { LKS_ASSERT(used_ == 0); }

    /// `const auto units = co_await semaphore.acquire(n);`
    Future<Units> acquire(std::uint64_t count) {
        const std::scoped_lock lock(mutex_);
        if (waiters_.empty() && fits(count)) {
            used_ += count;
            return Future<Units>::ready(Units(*this, count));
        }
        return waiters_.emplace_back(Waiter{count, {}}).promise.future();
    }

    std::uint64_t used() const {
        const std::scoped_lock lock(mutex_);
        return used_;
    }
    std::size_t waiting() const {
        const std::scoped_lock lock(mutex_);
        return waiters_.size();
    }

  private:
    struct Waiter {
        std::uint64_t count = 0;
        Promise<Units> promise;
    };

    /// Under the mutex.
    bool fits(std::uint64_t count) const noexcept {
        return used_ == 0 || (used_ <= units_ && count <= units_ - used_);
    }

    void give_back(std::uint64_t count) {
        std::vector<Waiter> granted;  // told without the lock: one that is gone gives back
        {
            const std::scoped_lock lock(mutex_);
            LKS_ASSERT(used_ >= count);
            used_ -= count;
            while (!waiters_.empty() && fits(waiters_.front().count)) {
                used_ += waiters_.front().count;
                granted.push_back(std::move(waiters_.front()));
                waiters_.pop_front();
            }
        }
        for (Waiter& waiter : granted) {
            waiter.promise.set(Units(*this, waiter.count));
        }
    }

    const std::uint64_t units_;
    mutable std::mutex mutex_;  // of what follows
    std::uint64_t used_ = 0;
    std::deque<Waiter> waiters_;
};

}  // namespace lakestream::rt
