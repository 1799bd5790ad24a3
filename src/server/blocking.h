// SPDX-License-Identifier: Apache-2.0
// run_blocking: from a thread that is no executor's into a coroutine and back.
#pragma once

#include <future>
#include <utility>

#include "base/assert.h"
#include "rt/scope.h"

namespace lakestream::server {

namespace internal {

template <class T>
rt::Task<bool> fulfil(rt::Task<T> task, std::promise<T> promise) {
    if constexpr (std::is_void_v<T>) {
        co_await std::move(task);
        promise.set_value();
    } else {
        promise.set_value(co_await std::move(task));
    }
    co_return true;
}

}  // namespace internal

/// Run `task` on `executor` and wait for its end. Not from an executor's thread. Meant for main():
/// starting, stopping, command lines.
template <class T>
T run_blocking(rt::Executor& executor, rt::Task<T> task) {
    LKS_ASSERT(!executor.here());
    std::promise<T> promise;
    std::future<T> done = promise.get_future();
    static_cast<void>(rt::submit(executor, internal::fulfil(std::move(task), std::move(promise))));
    return done.get();
}

}  // namespace lakestream::server
