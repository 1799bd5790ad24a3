// SPDX-License-Identifier: Apache-2.0
// The list of running tasks behind TaskScope.
#include "rt/scope.h"

#include <utility>

namespace lakestream::rt {

namespace internal {

struct ScopeRoot;

struct ScopeState {
    StopSource stop;
    Signal empty;
    bool closed = false;
    std::size_t count = 0;
    // Intrusive list of running root frames, for `abandon`.
    struct Node* first = nullptr;
};

struct Node {
    Node* previous = nullptr;
    Node* next = nullptr;
    std::coroutine_handle<> handle;
    std::shared_ptr<ScopeState> state;

    void link(std::shared_ptr<ScopeState> owner) {
        state = std::move(owner);
        next = state->first;
        if (next != nullptr) {
            next->previous = this;
        }
        state->first = this;
        ++state->count;
    }

    void unlink() noexcept {
        (previous != nullptr ? previous->next : state->first) = next;
        if (next != nullptr) {
            next->previous = previous;
        }
        if (--state->count == 0) {
            state->empty.notify_all();
        }
    }
};

struct ScopeRoot {
    struct promise_type : PromiseContext, Node {
        ScopeRoot get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
        ~promise_type() { unlink(); }
    };

    std::coroutine_handle<promise_type> frame;
};

static ScopeRoot run_in_scope(Task<void> task) {
    co_await std::move(task);
}

}  // namespace internal

TaskScope::TaskScope(Executor& executor)
    : executor_(executor), state_(std::make_shared<internal::ScopeState>()) {}

TaskScope::~TaskScope() {
    LKS_ASSERT(state_->count == 0);
}

void TaskScope::spawn(Task<void> task) {
    LKS_ASSERT(!state_->closed);
    internal::ScopeRoot root = internal::run_in_scope(std::move(task));
    auto& promise = root.frame.promise();
    promise.executor = &executor_;
    promise.handle = root.frame;
    promise.link(state_);
    executor_.post([frame = root.frame] { frame.resume(); });
}

StopSource& TaskScope::stop() noexcept {
    return state_->stop;
}

bool TaskScope::stopping() const noexcept {
    return state_->stop.requested();
}

Task<void> TaskScope::close() {
    state_->closed = true;
    state_->stop.request();
    while (state_->count > 0) {
        co_await state_->empty.wait();
    }
}

void TaskScope::abandon() noexcept {
    state_->closed = true;
    while (state_->first != nullptr) {
        state_->first->handle.destroy();
    }
}

std::size_t TaskScope::size() const noexcept {
    return state_->count;
}

}  // namespace lakestream::rt
