// SPDX-License-Identifier: Apache-2.0
// ResponseMemory: how many bytes the responses of one executor hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/assert.h"

namespace lakestream::kafka {

/// Whoever comes when little is left gets less, down to a floor, and nobody waits: a client that
/// does not take its responses slows others, never stops them.
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
                memory_->used_ -= bytes_;
            }
        }

        std::uint64_t bytes() const noexcept { return bytes_; }

        /// Count what is really held, which may also be more: one batch larger than the grant.
        void settle(std::uint64_t bytes) {
            LKS_ASSERT(memory_ != nullptr);
            memory_->used_ = memory_->used_ - bytes_ + bytes;
            bytes_ = bytes;
        }

      private:
        friend ResponseMemory;
        Grant(ResponseMemory& memory, std::uint64_t bytes) : memory_(&memory), bytes_(bytes) {}

        ResponseMemory* memory_ = nullptr;
        std::uint64_t bytes_ = 0;
    };

    ResponseMemory(std::uint64_t limit, std::uint64_t floor) : limit_(limit), floor_(floor) {}
    ResponseMemory(const ResponseMemory&) = delete;
    ResponseMemory& operator=(const ResponseMemory&) = delete;

    Grant take(std::uint64_t wanted) {
        const std::uint64_t left = used_ < limit_ ? limit_ - used_ : 0;
        const std::uint64_t bytes = std::min(wanted, std::max(left, floor_));
        used_ += bytes;
        return Grant(*this, bytes);
    }

    std::uint64_t used() const noexcept { return used_; }

  private:
    std::uint64_t limit_;
    std::uint64_t floor_;
    std::uint64_t used_ = 0;
};

}  // namespace lakestream::kafka
