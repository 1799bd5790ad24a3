// SPDX-License-Identifier: Apache-2.0
// The list of waiters behind Signal.
#include "rt/signal.h"

namespace lakestream::rt {

void Signal::Waiter::enter() {
    waiting_ = true;
    previous_ = signal_.last_;
    (previous_ != nullptr ? previous_->next_ : signal_.first_) = this;
    signal_.last_ = this;
    if (deadline_ != no_deadline) {
        timer_ = executor_->call_at(deadline_, [this] {
            timer_ = TimerId::none;
            leave();
            handle_.resume();
        });
    }
}

void Signal::Waiter::leave() noexcept {
    if (!waiting_) {
        return;
    }
    waiting_ = false;
    (previous_ != nullptr ? previous_->next_ : signal_.first_) = next_;
    (next_ != nullptr ? next_->previous_ : signal_.last_) = previous_;
    if (timer_ != TimerId::none) {
        executor_->cancel(std::exchange(timer_, TimerId::none));
    }
}

void Signal::Waiter::wake(bool notified) {
    leave();
    notified_ = notified;
    executor_->post([handle = handle_] { handle.resume(); });
}

Signal::~Signal() {
    LKS_ASSERT(first_ == nullptr);
}

void Signal::notify_all() {
    while (first_ != nullptr) {
        first_->wake(true);
    }
}

Task<bool> StopSource::sleep_until(MonoTime when) {
    if (!requested_) {
        co_await signal_.wait(when);
    }
    co_return requested_;
}

}  // namespace lakestream::rt
