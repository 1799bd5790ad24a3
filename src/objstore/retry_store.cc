// SPDX-License-Identifier: Apache-2.0
// Backoff, and who may be asked again.
#include "objstore/retry_store.h"

#include <algorithm>

namespace lakestream::objstore {

namespace {

bool nothing_applied(ErrorCode code) {
    return code == ErrorCode::unavailable || code == ErrorCode::throttled ||
           code == ErrorCode::deadline_exceeded;
}

/// Counts the attempts of one request.
class Attempts {
  public:
    Attempts(rt::Executor& executor, const RetryOptions& options)
        : executor_(executor),
          options_(options),
          deadline_(executor.now() + options.patience),
          backoff_(options.backoff_min) {}

    /// When to try again after this failure; none when it is time to give up.
    std::optional<MonoTime> next(const Error& error) {
        const auto whole = static_cast<std::uint64_t>(std::max<std::int64_t>(backoff_.count(), 2));
        const auto wait = Duration(executor_.rng().between(whole / 2 + 1, whole));
        const MonoTime when = executor_.now() + std::max<Duration>(wait, error.retry_after);
        if (++made_ >= options_.attempts_max || when > deadline_) {
            return std::nullopt;
        }
        backoff_ = std::min(backoff_ * 2, options_.backoff_max);
        return when;
    }

  private:
    rt::Executor& executor_;
    const RetryOptions& options_;
    MonoTime deadline_;
    Duration backoff_;
    std::uint32_t made_ = 0;
};

}  // namespace

template <class T, class... Args>
rt::Task<Result<T>> RetryStore::repeat(
    rt::Task<Result<T>> (ObjectStore::*call)(Args...), std::type_identity_t<Args>... args
) {
    Attempts attempts(co_await rt::this_executor(), options_);
    while (true) {
        Result<T> result = co_await (inner_.*call)(args...);
        if (result.ok() || !nothing_applied(result.code())) {
            co_return result;
        }
        const std::optional<MonoTime> when = attempts.next(result.error());
        if (!when.has_value()) {
            co_return result;
        }
        co_await rt::sleep_until(*when);
    }
}

rt::Task<Status> RetryStore::put(std::string name, Slices body, IfExists if_exists) {
    Attempts attempts(co_await rt::this_executor(), options_);
    Status unknown;  // the error of an attempt that may have been applied
    while (true) {
        Status result = co_await inner_.put(name, body, if_exists);
        const bool may_be_applied = result.is(ErrorCode::outcome_unknown);
        if (result.ok() || (may_be_applied && if_exists == IfExists::fail)) {
            co_return result;
        }
        const bool again = may_be_applied || nothing_applied(result.code());
        const std::optional<MonoTime> when = again ? attempts.next(result.error()) : std::nullopt;
        if (may_be_applied) {
            unknown = result;
        }
        if (!when.has_value()) {
            co_return unknown.ok() ? result : unknown;
        }
        co_await rt::sleep_until(*when);
    }
}

rt::Task<Result<Bytes>> RetryStore::get(std::string name, std::optional<ByteRange> range) {
    co_return co_await repeat(&ObjectStore::get, std::move(name), range);
}

rt::Task<Result<ObjectInfo>> RetryStore::head(std::string name) {
    co_return co_await repeat(&ObjectStore::head, std::move(name));
}

rt::Task<Result<ListPage>> RetryStore::list(
    std::string prefix, std::string after, std::uint32_t limit
) {
    co_return co_await repeat(&ObjectStore::list, std::move(prefix), std::move(after), limit);
}

rt::Task<std::vector<Status>> RetryStore::remove(std::vector<std::string> names) {
    Attempts attempts(co_await rt::this_executor(), options_);
    std::vector<Status> results = co_await inner_.remove(names);
    while (true) {
        std::vector<std::string> failed;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < results.size(); ++i) {
            const Status& result = results[i];
            if (!result.ok() &&
                (nothing_applied(result.code()) || result.is(ErrorCode::outcome_unknown))) {
                failed.push_back(names[i]);
                places.push_back(i);
            }
        }
        if (failed.empty()) {
            co_return results;
        }
        const std::optional<MonoTime> when = attempts.next(results[places.front()].error());
        if (!when.has_value()) {
            co_return results;
        }
        co_await rt::sleep_until(*when);
        std::vector<Status> repeated = co_await inner_.remove(std::move(failed));
        for (std::size_t i = 0; i < places.size(); ++i) {
            const bool was_unknown = results[places[i]].is(ErrorCode::outcome_unknown);
            if (repeated[i].ok() || !was_unknown) {
                results[places[i]] = std::move(repeated[i]);
            }
        }
    }
}

}  // namespace lakestream::objstore
