// SPDX-License-Identifier: Apache-2.0
// Tokens by the generic cell rate algorithm: one point in time per bucket, no refilling.
#include "objstore/budget_store.h"

#include <algorithm>

#include "base/assert.h"

namespace lakestream::objstore {

BudgetStore::BudgetStore(ObjectStore& inner, const BudgetOptions& options)
    : inner_(inner), options_(options) {
    LKS_ASSERT(options_.concurrent_max > 0);
    for (const Rate& rate : options_.rates.values) {
        LKS_ASSERT(rate.burst > 0);
    }
}

BudgetStore::~BudgetStore() {
    LKS_ASSERT(running_ == 0 && waiting_.empty());
}

Result<MonoTime> BudgetStore::take_token(Operation operation, MonoTime now) {
    const Rate& rate = options_.rates[operation];
    if (rate.per_second == 0) {
        return now;
    }
    const Duration interval = std::chrono::duration_cast<Duration>(1s) / rate.per_second;
    const std::scoped_lock lock(mutex_);
    MonoTime& next = next_[operation];
    const MonoTime from = std::max(next, now);
    const MonoTime when = std::max(from - interval * (rate.burst - 1), now);
    if (when - now > options_.wait_max) {
        Error error = throttled(
            "the budget of {} {} requests per second is used up: raise it or ask less",
            rate.per_second,
            operation_names[operation]
        );
        error.retry_after = std::chrono::ceil<std::chrono::milliseconds>(when - now);
        return error;
    }
    next = from + interval;
    return when;
}

Result<rt::Future<BudgetStore::Place>> BudgetStore::take_place() {
    const std::scoped_lock lock(mutex_);
    if (running_ < options_.concurrent_max) {
        ++running_;
        return rt::Future<Place>::ready(Place(*this));
    }
    if (waiting_.size() >= options_.waiting_max) {
        return throttled(
            "{} requests run and {} wait for the object store: ask less", running_, waiting_.size()
        );
    }
    return waiting_.emplace_back().future();
}

void BudgetStore::give_back() {
    std::optional<rt::Promise<Place>> first;
    {
        const std::scoped_lock lock(mutex_);
        if (waiting_.empty()) {
            --running_;
            return;
        }
        first.emplace(std::move(waiting_.front()));
        waiting_.pop_front();
    }
    first->set(Place(*this));
}

rt::Task<Result<BudgetStore::Place>> BudgetStore::admit(Operation operation) {
    rt::Executor& executor = co_await rt::this_executor();
    const MonoTime now = executor.now();
    const MonoTime when = LKS_CO_TRY(take_token(operation, now));
    if (when > now) {
        co_await rt::sleep_until(when);
    }
    rt::Future<Place> place = LKS_CO_TRY(take_place());
    co_return co_await place;
}

rt::Task<Status> BudgetStore::put(std::string name, Slices body, IfExists if_exists) {
    const Place place = LKS_CO_TRY(co_await admit(Operation::put));
    co_return co_await inner_.put(std::move(name), std::move(body), if_exists);
}

rt::Task<Result<Bytes>> BudgetStore::get(std::string name, std::optional<ByteRange> range) {
    const Place place = LKS_CO_TRY(co_await admit(Operation::get));
    co_return co_await inner_.get(std::move(name), range);
}

rt::Task<Result<ObjectInfo>> BudgetStore::head(std::string name) {
    const Place place = LKS_CO_TRY(co_await admit(Operation::head));
    co_return co_await inner_.head(std::move(name));
}

rt::Task<Result<ListPage>> BudgetStore::list(
    std::string prefix, std::string after, std::uint32_t limit
) {
    const Place place = LKS_CO_TRY(co_await admit(Operation::list));
    co_return co_await inner_.list(std::move(prefix), std::move(after), limit);
}

rt::Task<std::vector<Status>> BudgetStore::remove(std::vector<std::string> names) {
    const Result<Place> place = co_await admit(Operation::remove);
    if (!place.ok()) {
        co_return std::vector<Status>(names.size(), place.error());
    }
    co_return co_await inner_.remove(std::move(names));
}

std::size_t BudgetStore::running() const {
    const std::scoped_lock lock(mutex_);
    return running_;
}

std::size_t BudgetStore::waiting() const {
    const std::scoped_lock lock(mutex_);
    return waiting_.size();
}

}  // namespace lakestream::objstore
