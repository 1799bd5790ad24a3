// SPDX-License-Identifier: Apache-2.0
// ResponseMemory: how many bytes the responses of one executor hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "base/metrics.h"
#include "rt/signal.h"

namespace lakestream::kafka {

/// Whoever comes when little is left gets less, down to a floor. When twice the limit is held, by
/// batches larger than the floor, one has to wait: then clients that do not take their responses
/// are hung up on, so they slow others, never stop them. Held at most: twice the limit, and one
/// batch or floor for each response that is being read.
class ResponseMemory {
  public:
    /// Bytes counted until it is dropped. Move-only.
    class Grant {
      public:
        Grant() = default;
        Grant(Grant&& other) noexcept
            : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
        Grant& operator=(Grant&& other) noexcept {
            std::swap(memory_, other.memory_);
            std::swap(bytes_, other.bytes_);
            return *this;
        }
        Grant(const Grant&) = delete;
        Grant& operator=(const Grant&) = delete;
        ~Grant() {
            if (memory_ != nullptr) {
                memory_->change(bytes_, 0);
            }
        }

        std::uint64_t bytes() const noexcept { return bytes_; }

        /// Count what is really held, which may also be more: one batch larger than the grant.
        void settle(std::uint64_t bytes) {
            LKS_ASSERT(memory_ != nullptr);
            memory_->change(bytes_, bytes);
            bytes_ = bytes;
        }

      private:
        friend ResponseMemory;
        Grant(ResponseMemory& memory, std::uint64_t bytes) : memory_(&memory), bytes_(bytes) {}

        ResponseMemory* memory_ = nullptr;
        std::uint64_t bytes_ = 0;
    };

    /// `held` is raised and lowered by what is counted.
    ResponseMemory(std::uint64_t limit, std::uint64_t floor, metrics::Gauge& held)
        : limit_(limit), floor_(floor), held_(held) {}
    ResponseMemory(const ResponseMemory&) = delete;
    ResponseMemory& operator=(const ResponseMemory&) = delete;

    Grant take(std::uint64_t wanted) {
        const std::uint64_t left = used_ < limit_ ? limit_ - used_ : 0;
        const std::uint64_t bytes = std::min(wanted, std::max(left, floor_));
        change(0, bytes);
        return Grant(*this, bytes);
    }

    std::uint64_t used() const noexcept { return used_; }
    /// Nothing may be taken now. `freed` is notified when that has changed.
    bool full() const noexcept { return used_ >= 2 * limit_; }
    rt::Signal& freed() noexcept { return freed_; }

  private:
    void change(std::uint64_t from, std::uint64_t to) {
        const bool was_full = full();
        used_ = used_ - from + to;
        held_.add(static_cast<std::int64_t>(to) - static_cast<std::int64_t>(from));
        if (was_full && !full()) {
            freed_.notify_all();
        }
    }

    std::uint64_t limit_;
    std::uint64_t floor_;
    metrics::Gauge& held_;
    std::uint64_t used_ = 0;
    rt::Signal freed_;
};

}  // namespace lakestream::kafka
