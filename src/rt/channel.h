// SPDX-License-Identifier: Apache-2.0
// Channel<T>: a bounded queue inside one executor.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "rt/signal.h"

namespace lakestream::rt {

/// First in, first out. A full channel makes the sender wait; a closed one refuses new values and
/// hands out the rest.
template <class T>
class Channel {
  public:
    explicit Channel(std::size_t capacity) : capacity_(capacity) { LKS_ASSERT(capacity > 0); }

    /// Wait for room; false when the channel is closed.
    Task<bool> push(T value) {
        while (!closed_ && queue_.size() >= capacity_) {
            co_await changed_.wait();
        }
        co_return try_push(std::move(value));
    }

    /// False when full or closed.
    bool try_push(T value) {
        if (closed_ || queue_.size() >= capacity_) {
            return false;
        }
        queue_.push_back(std::move(value));
        changed_.notify_all();
        return true;
    }

    /// The next value; none when closed and empty, or when the deadline comes first.
    Task<std::optional<T>> pop(Deadline deadline = no_deadline) {
        while (queue_.empty()) {
            if (closed_ || !co_await changed_.wait(deadline)) {
                if (queue_.empty()) {
                    co_return std::nullopt;
                }
            }
        }
        std::optional<T> value(std::move(queue_.front()));
        queue_.pop_front();
        changed_.notify_all();
        co_return value;
    }

    void close() {
        closed_ = true;
        changed_.notify_all();
    }

    std::size_t size() const noexcept { return queue_.size(); }
    bool closed() const noexcept { return closed_; }

  private:
    std::size_t capacity_;
    std::deque<T> queue_;
    bool closed_ = false;
    Signal changed_;
};

}  // namespace lakestream::rt
