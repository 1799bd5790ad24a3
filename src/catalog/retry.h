// SPDX-License-Identifier: Apache-2.0
// Retry: how often a pass that reads before it writes is repeated.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "rt/task.h"

namespace lakestream::catalog {

/// For passes that begin by reading what is stored: only those may be repeated after
/// `outcome_unknown`.
class Retry {
  public:
    /// Whether to try again after `error`; has waited then, 10 ms and twice as long each time.
    rt::Task<bool> again(const Error& error) {
        const bool may =
            error.code == ErrorCode::conflict || error.code == ErrorCode::unavailable ||
            error.code == ErrorCode::throttled || error.code == ErrorCode::outcome_unknown ||
            error.code == ErrorCode::deadline_exceeded;
        if (!may || error.reason != 0 || attempts_ == attempts_max) {
            co_return false;
        }
        rt::Executor& executor = co_await rt::this_executor();
        const Duration pause = Duration(10ms) * (1 << attempts_) + error.retry_after;
        ++attempts_;
        // Not together with whoever lost the same race.
        const std::uint64_t jitter = executor.rng().below(static_cast<std::uint64_t>(10ms / 1ns));
        co_await rt::sleep_until(
            executor.now() + pause + Duration(static_cast<std::int64_t>(jitter))
        );
        co_return true;
    }

  private:
    static constexpr int attempts_max = 6;

    int attempts_ = 0;
};

}  // namespace lakestream::catalog
