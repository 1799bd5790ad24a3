// SPDX-License-Identifier: Apache-2.0
// SimTest: one executor on one seeded loop, for unit tests of asynchronous code.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "rt/future.h"
#include "rt/scope.h"
#include "rt/sim/loop.h"

namespace lakestream::rt {

/// `SimTest sim; auto result = sim.run(task());`
class SimTest {
  public:
    explicit SimTest(std::uint64_t seed = 1)
        : loop(seed), clock(loop), executor(loop, clock, seed) {}

    /// Run the task to its end in virtual time. Fails an assertion when it can never end.
    template <class T>
    T run(Task<T> task) {
        std::optional<T> result;
        auto waiting = submit(executor, keep(std::move(task), result));
        LKS_ASSERT(loop.run_until([&] { return result.has_value(); }));
        return std::move(*result);
    }

    void run(Task<void> task) {
        static_cast<void>(run([](Task<void> inner) -> Task<bool> {
            co_await std::move(inner);
            co_return true;
        }(std::move(task))));
    }

    SimLoop loop;
    SimClock clock;
    SimExecutor executor;

  private:
    template <class T>
    static Task<bool> keep(Task<T> task, std::optional<T>& result) {
        result.emplace(co_await std::move(task));
        co_return true;
    }
};

}  // namespace lakestream::rt
