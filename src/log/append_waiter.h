// SPDX-License-Identifier: Apache-2.0
// AppendWaiter: who waits for logs to grow.
#pragma once

#include <mutex>

#include "rt/future.h"

namespace lakestream::log {

/// Waits for any of several logs to grow. Shared by the waiter and the logs it waits for.
struct AppendWaiter {
    std::mutex mutex;
    rt::Promise<bool> promise;

    void fire(bool appended) {
        const std::scoped_lock lock(mutex);
        if (promise.pending()) {
            promise.set(appended);
        }
    }
};

}  // namespace lakestream::log
