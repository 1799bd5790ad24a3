// SPDX-License-Identifier: Apache-2.0
// Semaphore: a bounded number of units, given in the order of asking, inside one executor.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <utility>

#include "rt/task.h"

namespace lakestream::rt {

/// Units come back when their holder drops them. A request larger than the whole is granted when
/// nothing else is held, so that an oversized one is slow, never stuck.
class Semaphore {
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
        ~Units() { release(); }

        void release() {
            if (semaphore_ != nullptr) {
                std::exchange(semaphore_, nullptr)->give_back(count_);
            }
        }

        std::uint64_t count() const noexcept { return semaphore_ != nullptr ? count_ : 0; }

      private:
        friend Semaphore;
        Units(Semaphore& semaphore, std::uint64_t count) : semaphore_(&semaphore), count_(count) {}

        Semaphore* semaphore_ = nullptr;
        std::uint64_t count_ = 0;
    };

    struct Acquire {
        Semaphore& semaphore;
        std::uint64_t count;

        bool await_ready() const noexcept {
            if (semaphore.waiters_.empty() && semaphore.fits(count)) {
                semaphore.used_ += count;
                return true;
            }
            return false;
        }

        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> awaiter) {
            semaphore.waiters_.push_back({count, awaiter, awaiter.promise().executor});
        }

        Units await_resume() const noexcept { return Units(semaphore, count); }
    };

    explicit Semaphore(std::uint64_t units) : units_(units) {}
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;

    /// `auto units = co_await semaphore.acquire(n);`
    Acquire acquire(std::uint64_t count) { return {*this, count}; }

    std::uint64_t used() const noexcept { return used_; }
    std::uint64_t units() const noexcept { return units_; }
    std::size_t waiting() const noexcept { return waiters_.size(); }

  private:
    struct Waiter {
        std::uint64_t count;
        std::coroutine_handle<> handle;
        Executor* executor;
    };

    bool fits(std::uint64_t count) const noexcept { return used_ == 0 || used_ + count <= units_; }

    void give_back(std::uint64_t count) {
        LKS_ASSERT(used_ >= count);
        used_ -= count;
        while (!waiters_.empty() && fits(waiters_.front().count)) {
            const Waiter waiter = waiters_.front();
            waiters_.pop_front();
            used_ += waiter.count;
            waiter.executor->post([handle = waiter.handle] { handle.resume(); });
        }
    }

    std::uint64_t units_;
    std::uint64_t used_ = 0;
    std::deque<Waiter> waiters_;
};

}  // namespace lakestream::rt
