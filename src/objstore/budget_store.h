// SPDX-License-Identifier: Apache-2.0
// BudgetStore: so many requests per second, and so many at once.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>

#include "objstore/object_store.h"
#include "objstore/operation.h"
#include "rt/future.h"

namespace lakestream::objstore {

/// Token bucket.
struct Rate {
    std::uint32_t per_second = 0;  // 0: no limit
    std::uint32_t burst = 1;       // requests that a rested bucket gives at once, at least 1
};

struct BudgetOptions {
    PerOperation<Rate> rates;  // a remove of many names is one request
    std::uint32_t concurrent_max = 64;
    std::uint32_t waiting_max = 4096;  // requests queued for concurrent_max
    Duration wait_max = 10s;           // for a token
};

/// Requests take a token, then a place, each in the order of asking. What would wait too long, or
/// in too long a queue, is `throttled`, with the time to wait; nothing was asked of the inner
/// store. One budget serves all executors: a short lock per request.
class BudgetStore final : public ObjectStore {
  public:
    BudgetStore(ObjectStore& inner, const BudgetOptions& options);
    ~BudgetStore() override;

    rt::Task<Status> put(std::string name, Slices body, IfExists if_exists) override;
    rt::Task<Result<Bytes>> get(std::string name, std::optional<ByteRange> range) override;
    rt::Task<Result<ObjectInfo>> head(std::string name) override;
    rt::Task<Result<ListPage>> list(std::string prefix, std::string after, std::uint32_t limit)
        override;
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override;

    /// Requests that have a place now, and that wait for one.
    std::size_t running() const;
    std::size_t waiting() const;

  private:
    /// A place among the concurrent ones. Returned when dropped, also by a waiter that is gone.
    class Place {
      public:
        explicit Place(BudgetStore& budget) : budget_(&budget) {}
        Place(Place&& other) noexcept : budget_(std::exchange(other.budget_, nullptr)) {}
        Place& operator=(Place&&) = delete;
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        ~Place() {
            if (budget_ != nullptr) {
                budget_->give_back();
            }
        }

      private:
        BudgetStore* budget_;
    };

    rt::Task<Result<Place>> admit(Operation operation);
    Result<MonoTime> take_token(Operation operation, MonoTime now);
    Result<rt::Future<Place>> take_place();
    void give_back();

    ObjectStore& inner_;
    BudgetOptions options_;
    mutable std::mutex mutex_;     // of what follows
    PerOperation<MonoTime> next_;  // when an endless stream of requests at the rate would go on
    std::size_t running_ = 0;
    std::deque<rt::Promise<Place>> waiting_;
};

}  // namespace lakestream::objstore
