// SPDX-License-Identifier: Apache-2.0
// Who gets request memory, and in which order.
#include "kafka/request_memory.h"

#include <algorithm>

namespace lakestream::kafka {

RequestMemory::Queue& RequestMemory::queue_of(const Units& units) noexcept {
    if (units.size_ == RequestSize::small) {
        return small_;
    }
    return units.count_ > 0 ? growing_ : large_;
}

bool RequestMemory::fits(const Queue& queue, std::uint64_t id, std::uint64_t added) const noexcept {
    if (&queue == &small_) {
        const bool others_wait = !growing_.empty() || !large_.empty();
        return small_held_ == 0 || small_held_ + added <= reserve_ ||
               (!others_wait && small_held_ + large_held_ + added <= bytes_);
    }
    const bool room = large_held_ + std::max(small_held_, reserve_) + added <= bytes_ + reserve_;
    if (&queue == &growing_) {
        return room || beyond_ == 0 || beyond_ == id;
    }
    return growing_.empty() && (large_held_ == 0 || room);
}

void RequestMemory::take(const Queue& queue, std::uint64_t id, std::uint64_t added) {
    if (&queue == &small_) {
        small_held_ += added;
    } else {
        large_held_ += added;
        if (&queue == &growing_ &&
            large_held_ + std::max(small_held_, reserve_) > bytes_ + reserve_) {
            beyond_ = id;
        }
    }
    held_.add(static_cast<std::int64_t>(added));
}

bool RequestMemory::take_now(const Units& units, std::uint64_t added) {
    const Queue& queue = queue_of(units);
    const bool first = queue.empty() || beyond_ == units.id_;
    if (!first || !fits(queue, units.id_, added)) {
        return false;
    }
    take(queue, units.id_, added);
    return true;
}

void RequestMemory::wait(
    const Units& units, std::uint64_t added, std::coroutine_handle<> awaiter, rt::Executor* executor
) {
    waited_.add();
    queue_of(units).push_back({units.id_, added, awaiter, executor});
}

void RequestMemory::give_back(const Units& units) {
    std::uint64_t& held = units.size_ == RequestSize::small ? small_held_ : large_held_;
    LKS_ASSERT(held >= units.count_);
    held -= units.count_;
    held_.add(-static_cast<std::int64_t>(units.count_));
    if (beyond_ == units.id_) {
        beyond_ = 0;
    }
    admit(growing_);
    admit(large_);
    admit(small_);
}

void RequestMemory::admit(Queue& queue) {
    while (!queue.empty() && fits(queue, queue.front().id, queue.front().added)) {
        const Waiter waiter = queue.front();
        take(queue, waiter.id, waiter.added);
        queue.pop_front();
        waiter.executor->post([handle = waiter.handle] { handle.resume(); });
    }
}

}  // namespace lakestream::kafka
