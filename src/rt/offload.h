// SPDX-License-Identifier: Apache-2.0
// Offloader: blocking or CPU-heavy work away from the loop.
#pragma once

#include <type_traits>
#include <utility>

#include "rt/future.h"

namespace lakestream::rt {

/// Runs work on other threads; under simulation inline, after a random virtual delay. Thread-safe.
class Offloader {
  public:
    virtual ~Offloader() = default;
    /// Work is begun in the order of the calls. The queue is bounded by what callers admit.
    virtual void run(Work work) = 0;
};

/// Run `function` away from the loop; the future completes with what it returns.
template <class Function>
Future<std::invoke_result_t<Function>> offload(Offloader& offloader, Function function) {
    Promise<std::invoke_result_t<Function>> promise;
    auto future = promise.future();
    offloader.run([promise = std::move(promise), function = std::move(function)]() mutable {
        promise.set(function());
    });
    return future;
}

}  // namespace lakestream::rt
