// SPDX-License-Identifier: Apache-2.0
// DiskTurns: reads of much give way to writes that somebody waits for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace lakestream::rt {

/// A disk serves what it is asked in turn, so a write waits for the reads that are in flight. While
/// there is one, reads begin one at a time; a read that has waited for `patience` begins anyway, so
/// that they go on beside writes without end. Thread-safe; blocks the threads that read, which are
/// for that. Outlives its turns.
class DiskTurns {
  public:
    /// Ends when destroyed. Move-only.
    class Turn {
      public:
        Turn() = default;
        Turn(Turn&& other) noexcept
            : turns_(std::exchange(other.turns_, nullptr)), count_(other.count_) {}
        Turn& operator=(Turn&&) = delete;
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        ~Turn() {
            if (turns_ != nullptr) {
                turns_->end(count_);
            }
        }

      private:
        friend DiskTurns;
        Turn(DiskTurns& turns, std::size_t& count) : turns_(&turns), count_(&count) {}

        DiskTurns* turns_ = nullptr;
        std::size_t* count_ = nullptr;
    };

    explicit DiskTurns(std::chrono::milliseconds patience = std::chrono::milliseconds(20))
        : patience_(patience) {}
    DiskTurns(const DiskTurns&) = delete;
    DiskTurns& operator=(const DiskTurns&) = delete;

    /// A write with its fsync. Never waits.
    Turn write() {
        const std::scoped_lock lock(mutex_);
        ++writes_;
        return Turn(*this, writes_);
    }

    /// A piece of a read: little, as a write may come right after it.
    Turn read() {
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.wait_for(lock, patience_, [this] { return writes_ == 0 || reads_ == 0; });
        --waiting_;
        ++reads_;
        return Turn(*this, reads_);
    }

    /// Reads that wait for their turn.
    std::size_t waiting() const {
        const std::scoped_lock lock(mutex_);
        return waiting_;
    }

  private:
    void end(std::size_t* count) {
        bool all = false;
        {
            const std::scoped_lock lock(mutex_);
            --*count;
            all = writes_ == 0;
        }
        all ? changed_.notify_all() : changed_.notify_one();
    }

    const std::chrono::milliseconds patience_;
    mutable std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::size_t writes_ = 0;
    std::size_t reads_ = 0;
    std::size_t waiting_ = 0;
};

}  // namespace lakestream::rt
