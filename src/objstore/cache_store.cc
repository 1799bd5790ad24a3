// SPDX-License-Identifier: Apache-2.0
// Kept runs in order of use, and fetches that others wait for.
#include "objstore/cache_store.h"

#include <iterator>
#include <limits>

namespace lakestream::objstore {

namespace {

constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();

}  // namespace

/// The fetch that others join. Its end, even by being dropped, ends their wait.
class CacheStore::Fetching {
  public:
    Fetching(CacheStore& cache, Wanted wanted, std::shared_ptr<Fetch> fetch)
        : cache_(cache), wanted_(std::move(wanted)), fetch_(std::move(fetch)) {}
    Fetching(const Fetching&) = delete;
    Fetching& operator=(const Fetching&) = delete;
    ~Fetching() {
        if (fetch_ != nullptr) {
            end(cancelled("the fetch of object '{}' was dropped", wanted_.name));
        }
    }

    void end(const Result<Bytes>& result) {
        cache_.end(wanted_, std::exchange(fetch_, nullptr), result);
    }

  private:
    CacheStore& cache_;
    Wanted wanted_;
    std::shared_ptr<Fetch> fetch_;
};

CacheStore::Begun CacheStore::begin(const Wanted& wanted) {
    const std::scoped_lock lock(mutex_);
    Begun begun;
    begun.kept = find(wanted);
    if (begun.kept.has_value()) {
        ++hits_;
    } else if (const auto found = fetches_.find(wanted); found != fetches_.end()) {
        ++joins_;
        begun.joined.emplace(found->second->waiters.emplace_back().future());
    } else {
        ++misses_;
        begun.fetch = std::make_shared<Fetch>();
        fetches_.emplace(wanted, begun.fetch);
    }
    return begun;
}

void CacheStore::end(
    const Wanted& wanted, const std::shared_ptr<Fetch>& fetch, const Result<Bytes>& result
) {
    std::vector<rt::Promise<Result<Bytes>>> waiters;
    {
        const std::scoped_lock lock(mutex_);
        waiters = std::move(fetch->waiters);
        const auto found = fetches_.find(wanted);
        if (found != fetches_.end() && found->second == fetch) {
            fetches_.erase(found);
            if (result.ok()) {
                keep(wanted, *result);
            }
        }
    }
    for (rt::Promise<Result<Bytes>>& waiter : waiters) {
        waiter.set(result);
    }
}

std::optional<Bytes> CacheStore::find(const Wanted& wanted) {
    // The run that begins last at or before the range is the one looked at.
    auto at = runs_.upper_bound(Place(wanted.name, wanted.begin));
    if (at == runs_.begin()) {
        return std::nullopt;
    }
    --at;
    const Run& run = *at->second;
    if (run.place.first != wanted.name) {
        return std::nullopt;
    }
    const std::uint64_t run_end = run.place.second + run.bytes.size();
    const std::uint64_t end = wanted.end == unbounded && run.whole ? run_end : wanted.end;
    if (end > run_end) {
        return std::nullopt;
    }
    by_use_.splice(by_use_.begin(), by_use_, at->second);
    return run.bytes.slice(wanted.begin - run.place.second, end - wanted.begin);
}

void CacheStore::keep(const Wanted& wanted, const Bytes& bytes) {
    if (bytes.empty() || bytes.size() > account_.limit()) {
        return;
    }
    const Place place(wanted.name, wanted.begin);
    const std::uint64_t end = wanted.begin + bytes.size();
    auto at = runs_.lower_bound(place);
    if (at != runs_.end() && at->first == place && at->second->bytes.size() > bytes.size()) {
        return;
    }
    // What the new run covers goes.
    while (at != runs_.end() && at->first.first == wanted.name &&
           at->first.second + at->second->bytes.size() <= end) {
        at = erase(at);
    }
    auto reservation = account_.try_reserve(bytes.size());
    while (!reservation.has_value() && !by_use_.empty()) {
        erase(runs_.find(by_use_.back().place));
        reservation = account_.try_reserve(bytes.size());
    }
    if (reservation.has_value()) {
        by_use_.push_front({place, bytes, wanted.end == unbounded, std::move(*reservation)});
        runs_.emplace(place, by_use_.begin());
    }
}

CacheStore::Runs::iterator CacheStore::erase(Runs::iterator run) {
    by_use_.erase(run->second);
    return runs_.erase(run);
}

void CacheStore::forget(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    auto at = runs_.lower_bound(Place(name, 0));
    while (at != runs_.end() && at->first.first == name) {
        at = erase(at);
    }
    // Fetches on their way end for those who wait; gets that come now must see what is there now.
    std::erase_if(fetches_, [&](const auto& fetch) { return fetch.first.name == name; });
}

rt::Task<Result<Bytes>> CacheStore::get(std::string name, std::optional<ByteRange> range) {
    LKS_CO_TRY(check_range(range));
    const Wanted wanted{
        .name = name,
        .begin = range.has_value() ? range->begin : 0,
        .end = range.has_value() ? range->end : unbounded,
    };
    Begun begun = begin(wanted);
    if (begun.kept.has_value()) {
        co_return std::move(*begun.kept);
    }
    if (begun.joined.has_value()) {
        co_return co_await *begun.joined;
    }
    Fetching fetching(*this, wanted, std::move(begun.fetch));
    Result<Bytes> result = co_await inner_.get(std::move(name), range);
    fetching.end(result);
    co_return result;
}

rt::Task<Status> CacheStore::put(std::string name, Slices body, IfExists if_exists) {
    forget(name);
    Status result = co_await inner_.put(name, std::move(body), if_exists);
    forget(name);
    co_return result;
}

rt::Task<Result<ObjectInfo>> CacheStore::head(std::string name) {
    co_return co_await inner_.head(std::move(name));
}

rt::Task<Result<ListPage>> CacheStore::list(
    std::string prefix, std::string after, std::uint32_t limit
) {
    co_return co_await inner_.list(std::move(prefix), std::move(after), limit);
}

rt::Task<std::vector<Status>> CacheStore::remove(std::vector<std::string> names) {
    std::vector<Status> results = co_await inner_.remove(names);
    for (const std::string& name : names) {
        forget(name);
    }
    co_return results;
}

std::uint64_t CacheStore::hits() const {
    const std::scoped_lock lock(mutex_);
    return hits_;
}

std::uint64_t CacheStore::joins() const {
    const std::scoped_lock lock(mutex_);
    return joins_;
}

std::uint64_t CacheStore::misses() const {
    const std::scoped_lock lock(mutex_);
    return misses_;
}

}  // namespace lakestream::objstore
