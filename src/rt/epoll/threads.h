// SPDX-License-Identifier: Apache-2.0
// The threads of the process: one per loop, and pools for blocking and CPU-heavy work.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "rt/epoll/loop.h"
#include "rt/offload.h"

namespace lakestream::rt {

/// Shard loops, each on a thread of its own, pinned to a core when there are at least four.
class LoopThreads {
  public:
    LoopThreads(const Clock& clock, std::size_t count);
    LoopThreads(const LoopThreads&) = delete;
    LoopThreads& operator=(const LoopThreads&) = delete;
    /// Stops the loops and joins their threads; what they were asked to stop has stopped before.
    ~LoopThreads();

    /// Errors: `exhausted` (the system gave fewer threads). Loops must not be used then.
    const Status& started() const noexcept { return started_; }
    Loop& operator[](std::size_t i) { return *loops_[i]; }
    std::size_t size() const noexcept { return loops_.size(); }
    /// Whether the last round of one of them took longer than 5 ms. From any thread.
    bool lagging() const noexcept;

  private:
    Status started_;
    std::vector<std::unique_ptr<Loop>> loops_;
    std::vector<std::thread> threads_;
};

enum class ThreadPriority : bool { normal, background };

/// A few threads and one queue, first in, first out. Before each piece of work they stand back
/// while a loop of `ahead` lags, for a second at most: what is in the background goes on, if
/// slowly.
class ThreadPool final : public Offloader {
  public:
    ThreadPool(
        std::string name,
        std::size_t threads,
        ThreadPriority priority,
        const LoopThreads* ahead = nullptr
    );
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;
    /// Runs what is queued, then joins.
    ~ThreadPool() override;

    /// Errors: `exhausted` (the system gave fewer threads). The pool must not be used then.
    const Status& started() const noexcept { return started_; }
    void run(Work work) override;
    /// Work that has not begun. From any thread.
    std::size_t waiting() const;

  private:
    void work_until_stopped();
    void stand_back(std::unique_lock<std::mutex>& lock);

    Status started_;
    const LoopThreads* ahead_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Work> queue_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

/// Cores this process may use, at least 1.
std::size_t usable_cores();

}  // namespace lakestream::rt
