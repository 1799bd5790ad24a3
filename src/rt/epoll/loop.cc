// SPDX-License-Identifier: Apache-2.0
// The epoll loop.
#include "rt/epoll/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace lakestream::rt {

namespace {

constexpr int events_max = 256;
constexpr std::size_t work_per_round_max = 1024;  // then look at sockets and timers again

}  // namespace

MonoTime SystemClock::mono_now() const {
    timespec t{};
    LKS_ASSERT(clock_gettime(CLOCK_BOOTTIME, &t) == 0);
    return MonoTime(Duration(t.tv_sec * 1'000'000'000 + t.tv_nsec));
}

WallTime SystemClock::wall_now() const {
    timespec t{};
    LKS_ASSERT(clock_gettime(CLOCK_REALTIME, &t) == 0);
    return wall_from_ms(t.tv_sec * 1000 + t.tv_nsec / 1'000'000);
}

Rng system_rng() {
    std::array<std::uint64_t, 4> state{};
    LKS_ASSERT(getrandom(state.data(), sizeof(state), 0) == sizeof(state));
    return Rng(state);
}

Loop::Loop(const Clock& clock)
    : clock_(clock),
      rng_(system_rng()),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    LKS_ASSERT(epoll_fd_ >= 0 && wake_fd_ >= 0);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.ptr = nullptr;
    LKS_ASSERT(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) == 0);
}

Loop::~Loop() {
    // Work that never ran may own frames whose end posts more work.
    do {
        timers_.clear();
        ready_.clear();
        take_inbox();
    } while (!ready_.empty());
    close(wake_fd_);
    close(epoll_fd_);
}

void Loop::post(Work work) {
    if (here()) {
        ready_.push_back(std::move(work));
        return;
    }
    auto message = std::make_unique<Message>(std::move(work));
    message->next = inbox_.load(std::memory_order_relaxed);
    while (!inbox_.compare_exchange_weak(message->next, message.get())) {
    }
    static_cast<void>(message.release());
    if (sleeping_.exchange(false)) {
        wake();
    }
}

void Loop::wake() {
    const std::uint64_t one = 1;
    // The counter is never read back; it is full after 2^64 wake-ups.
    static_cast<void>(!write(wake_fd_, &one, sizeof(one)));
}

void Loop::take_inbox() {
    Message* newest = inbox_.exchange(nullptr);
    Message* oldest = nullptr;
    while (newest != nullptr) {
        Message* next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != nullptr) {
        const std::unique_ptr<Message> message(oldest);
        oldest = message->next;
        ready_.push_back(std::move(message->work));
    }
}

void Loop::run_ready() {
    const MonoTime begin = now();
    while (auto work = timers_.pop_due(begin)) {
        (*work)();
    }
    for (std::size_t i = 0; i < work_per_round_max; ++i) {
        if (ready_.empty()) {
            take_inbox();
            if (ready_.empty()) {
                break;
            }
        }
        Work work = std::move(ready_.front());
        ready_.pop_front();
        work();
    }
    lag_ns_.store((now() - begin).count(), std::memory_order_relaxed);
}

void Loop::wait_for_events() {
    int timeout_ms = -1;
    if (!ready_.empty() || stopping_.load()) {
        timeout_ms = 0;
    } else if (const auto next = timers_.next()) {
        const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*next - now());
        timeout_ms = static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 60'000));
    }
    if (timeout_ms != 0) {
        // Either the poster sees `sleeping_` and wakes us, or we see its message here.
        sleeping_.store(true);
        if (inbox_.load() != nullptr) {
            timeout_ms = 0;
        } else {
            lag_ns_.store(0, std::memory_order_relaxed);  // nothing waits
        }
    }
    std::array<epoll_event, events_max> events;  // NOLINT: filled by the kernel
    const int count = epoll_wait(epoll_fd_, events.data(), events_max, timeout_ms);
    sleeping_.store(false);
    unwatched_.clear();
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        auto* handler = static_cast<FdHandler*>(event.data.ptr);
        if (handler == nullptr) {
            continue;  // woken: each write is an edge, so nothing needs to be read
        }
        if (std::ranges::find(unwatched_, handler) == unwatched_.end()) {
            constexpr unsigned broken = EPOLLERR | EPOLLHUP;
            handler->on_ready(
                (event.events & (EPOLLIN | EPOLLRDHUP | broken)) != 0,
                (event.events & (EPOLLOUT | broken)) != 0
            );
        }
    }
}

void Loop::run() {
    thread_.store(std::this_thread::get_id());
    while (true) {
        take_inbox();
        run_ready();
        if (stopping_.load() && ready_.empty() && inbox_.load() == nullptr) {
            break;
        }
        wait_for_events();
    }
    thread_.store(std::thread::id());
}

void Loop::stop() {
    stopping_.store(true);
    sleeping_.store(false);
    wake();
}

void Loop::watch(int fd, FdHandler& handler) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.ptr = &handler;
    LKS_ASSERT(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0);
}

void Loop::unwatch(int fd, FdHandler& handler) {
    LKS_ASSERT(epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr) == 0);
    unwatched_.push_back(&handler);
}

}  // namespace lakestream::rt
