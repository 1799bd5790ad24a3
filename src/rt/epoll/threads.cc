// SPDX-License-Identifier: Apache-2.0
// Making and joining threads.
#include "rt/epoll/threads.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/format.h"

namespace lakestream::rt {

namespace {

constexpr std::size_t pin_from_cores = 4;
constexpr int background_nice = 10;
constexpr Duration lag_max = std::chrono::milliseconds(5);
constexpr int stand_back_steps_max = 1000;
constexpr auto stand_back_step = std::chrono::milliseconds(1);

void name_thread(const std::string& name) {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

void pin_to_core(std::size_t core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    // A wish: a container may forbid it.
    sched_setaffinity(0, sizeof(set), &set);
}

template <class Body>
Status start_thread(std::vector<std::thread>& threads, const std::string& name, Body body) {
    try {
        threads.emplace_back([name, body = std::move(body)] {
            name_thread(name);
            body();
        });
    } catch (const std::exception& e) {  // how std::thread reports that there is none
        return exhausted(
            "cannot start the thread {}: {}; raise the limits of threads and memory (ulimit -u, "
            "ulimit -v), or have fewer with process.shards, process.io_threads and "
            "process.read_threads",
            name,
            e.what()
        );
    }
    return {};
}

}  // namespace

std::size_t usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) {
        return std::max<std::size_t>(1, std::thread::hardware_concurrency());
    }
    return std::max<std::size_t>(1, static_cast<std::size_t>(CPU_COUNT(&set)));
}

LoopThreads::LoopThreads(const Clock& clock, std::size_t count) {
    const bool pin = usable_cores() >= pin_from_cores && count <= usable_cores();
    for (std::size_t i = 0; i < count && started_.ok(); ++i) {
        Loop* const loop = loops_.emplace_back(std::make_unique<Loop>(clock)).get();
        started_ = start_thread(threads_, fmt::format("shard-{}", i), [loop, i, pin] {
            if (pin) {
                pin_to_core(i);
            }
            loop->run();
        });
    }
}

LoopThreads::~LoopThreads() {
    for (const auto& loop : loops_) {
        loop->stop();
    }
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

bool LoopThreads::lagging() const noexcept {
    return std::ranges::any_of(loops_, [](const auto& loop) { return loop->lag() > lag_max; });
}

ThreadPool::ThreadPool(
    std::string name, std::size_t threads, ThreadPriority priority, const LoopThreads* ahead
)
    : ahead_(ahead) {
    for (std::size_t i = 0; i < threads && started_.ok(); ++i) {
        started_ = start_thread(threads_, fmt::format("{}-{}", name, i), [this, priority] {
            if (priority == ThreadPriority::background) {
                setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), background_nice);
            }
            work_until_stopped();
        });
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

void ThreadPool::run(Work work) {
    {
        const std::scoped_lock lock(mutex_);
        queue_.push_back(std::move(work));
    }
    wake_.notify_one();
}

std::size_t ThreadPool::waiting() const {
    const std::scoped_lock lock(mutex_);
    return queue_.size();
}

void ThreadPool::work_until_stopped() {
    std::unique_lock lock(mutex_);
    while (true) {
        wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        stand_back(lock);
        if (queue_.empty()) {
            if (stopping_) {
                return;
            }
            continue;  // another thread took it meanwhile
        }
        Work work = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        work();
        work = nullptr;
        lock.lock();
    }
}

void ThreadPool::stand_back(std::unique_lock<std::mutex>& lock) {
    for (int i = 0; i < stand_back_steps_max; ++i) {
        if (stopping_ || ahead_ == nullptr || !ahead_->lagging()) {
            return;
        }
        lock.unlock();
        std::this_thread::sleep_for(stand_back_step);
        lock.lock();
    }
}

}  // namespace lakestream::rt
