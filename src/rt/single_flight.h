// SPDX-License-Identifier: Apache-2.0
// SingleFlight: one run of an operation for all who ask for the same at the same time.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "rt/future.h"

namespace lakestream::rt {

/// Thread-safe: who asks first runs the operation on its own executor, the others wait on theirs.
/// Dropping the first one's task ends the others with `cancelled`. Nothing is kept: who comes after
/// the end runs it anew. Outlives what it runs.
template <class Key, class T>
class SingleFlight {
  public:
    SingleFlight() = default;
    SingleFlight(const SingleFlight&) = delete;
    SingleFlight& operator=(const SingleFlight&) = delete;

    /// What `operation` ends with, or the one that runs already for this key, an error too.
    Task<Result<T>> run(Key key, Task<Result<T>> operation) {
        std::optional<Future<Result<T>>> joined;
        {
            const std::scoped_lock lock(mutex_);
            const auto [flight, is_new] = flights_.try_emplace(key);
            if (!is_new) {
                joined.emplace(flight->second.emplace_back().future());
            }
        }
        if (joined.has_value()) {
            co_return co_await *joined;
        }
        Flight flight(*this, std::move(key));
        Result<T> result = co_await std::move(operation);
        for (Promise<Result<T>>& waiter : flight.end()) {
            waiter.set(result);
        }
        co_return result;
    }

    /// Whether it runs for this key.
    bool running(const Key& key) const {
        const std::scoped_lock lock(mutex_);
        return flights_.contains(key);
    }

  private:
    using Waiters = std::vector<Promise<Result<T>>>;

    /// Ends when dropped, too: then the waiters' promises are dropped with it.
    class Flight {
      public:
        Flight(SingleFlight& all, Key key) : all_(&all), key_(std::move(key)) {}
        Flight(const Flight&) = delete;
        Flight& operator=(const Flight&) = delete;
        ~Flight() { end(); }

        Waiters end() {
            if (all_ == nullptr) {
                return {};
            }
            SingleFlight& all = *std::exchange(all_, nullptr);
            const std::scoped_lock lock(all.mutex_);
            return std::move(all.flights_.extract(key_).mapped());
        }

      private:
        SingleFlight* all_;
        Key key_;
    };

    mutable std::mutex mutex_;
    std::map<Key, Waiters> flights_;
};

}  // namespace lakestream::rt
