// SPDX-License-Identifier: Apache-2.0
// The seeded scheduler.
#include "rt/sim/loop.h"

#include <algorithm>

namespace lakestream::rt {

namespace {

// 2026-07-01 00:00 UTC: dates in object names look like real ones.
constexpr std::int64_t wall_epoch_ms = 1'782'864'000'000;

}  // namespace

MonoTime SimClock::mono_now() const {
    return loop_.now();
}

WallTime SimClock::wall_now() const {
    const auto since =
        std::chrono::floor<std::chrono::milliseconds>(loop_.now().time_since_epoch());
    return wall_from_ms(wall_epoch_ms) + since + wall_error_;
}

SimExecutor::SimExecutor(SimLoop& loop, const Clock& clock, std::uint64_t seed)
    : loop_(loop), clock_(clock), rng_(seed), number_(++loop.made_) {
    loop_.executors_.push_back(this);
}

SimExecutor::~SimExecutor() {
    dead_ = true;  // what dies now may post
    std::erase(loop_.executors_, this);
    timers_.clear();
    ready_.clear();
}

void SimExecutor::post(Work work) {
    if (!dead_) {
        ready_.push_back(std::move(work));
    }
}

TimerId SimExecutor::call_at(MonoTime when, Work work) {
    return dead_ ? TimerId::none : timers_.add(when, std::move(work));
}

bool SimExecutor::here() const {
    return loop_.current_ == this;
}

void SimOffloader::run(Work work) {
    const auto delay = Duration(static_cast<std::int64_t>(
        executor_.rng().below(static_cast<std::uint64_t>(delay_max_.count()) + 1)
    ));
    executor_.call_at(executor_.now() + delay, std::move(work));
}

bool SimExecutor::runnable() const {
    const MonoTime now = loop_.now();
    return !dead_ && paused_until_ <= now &&
           (!ready_.empty() || timers_.next().value_or(MonoTime::max()) <= now);
}

Work SimExecutor::take(Rng& seed) {
    const bool due = timers_.next().value_or(MonoTime::max()) <= loop_.now();
    if (ready_.empty() || (due && seed.chance(1, 2))) {
        return std::move(*timers_.pop_due(loop_.now()));
    }
    Work work = std::move(ready_.front());
    ready_.pop_front();
    return work;
}

void SimLoop::note(std::uint64_t number) {
    for (const std::uint64_t word :
         {static_cast<std::uint64_t>(now_.time_since_epoch().count()), number}) {
        trace_ = (trace_ ^ word) * 0x100000001b3;
    }
    ++steps_;
}

bool SimLoop::advance_clock(MonoTime limit) {
    MonoTime next = MonoTime::max();
    for (const SimExecutor* executor : executors_) {
        if (executor->dead_) {
            continue;
        }
        if (const auto due = executor->timers_.next()) {
            next = std::min(next, std::max(*due, executor->paused_until_));
        }
        if (!executor->ready_.empty()) {
            next = std::min(next, executor->paused_until_);
        }
    }
    if (next == MonoTime::max() || next > limit) {
        return false;
    }
    now_ = std::max(now_, next);
    return true;
}

bool SimLoop::step() {
    std::size_t count = 0;
    for (const SimExecutor* executor : executors_) {
        count += executor->runnable() ? 1 : 0;
    }
    if (count == 0) {
        return advance_clock(MonoTime::max());
    }
    std::size_t pick = rng_.below(count);
    for (SimExecutor* executor : executors_) {
        if (executor->runnable() && pick-- == 0) {
            Work work = executor->take(rng_);
            note(executor->number_);
            current_ = executor;
            work();
            work = nullptr;
            current_ = nullptr;
            break;
        }
    }
    return true;
}

void SimLoop::run_for(Duration time) {
    const MonoTime end = now_ + time;
    while (true) {
        const bool ready =
            std::ranges::any_of(executors_, [](const auto* e) { return e->runnable(); });
        if (ready) {
            step();
        } else if (!advance_clock(end)) {
            break;
        }
    }
    now_ = std::max(now_, end);
}

}  // namespace lakestream::rt
