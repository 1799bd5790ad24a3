// SPDX-License-Identifier: Apache-2.0
// CacheStore: keeps what was read, and fetches it once for all who ask at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "objstore/object_store.h"
#include "rt/future.h"
#include "rt/memory.h"

namespace lakestream::objstore {

/// Gets are answered from memory when one kept run of bytes covers them; runs leave in the order of
/// their last use when the account is full. One cache serves all executors, since one object holds
/// the data of many logs: a short lock per get. Errors and missing objects are not kept. An answer
/// shares the whole kept run: `compact` it before holding a small one for long.
///
/// For immutable objects only: what another node overwrites or removes stays here.
class CacheStore final : public ObjectStore {
  public:
    /// Holds up to what `account` allows.
    CacheStore(ObjectStore& inner, rt::MemoryAccount& account) : inner_(inner), account_(account) {}

    rt::Task<Status> put(std::string name, Slices body, IfExists if_exists) override;
    rt::Task<Result<Bytes>> get(std::string name, std::optional<ByteRange> range) override;
    rt::Task<Result<ObjectInfo>> head(std::string name) override;
    rt::Task<Result<ListPage>> list(std::string prefix, std::string after, std::uint32_t limit)
        override;
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override;

    /// Gets answered from memory, by waiting for another's fetch, and by a fetch of their own.
    std::uint64_t hits() const;
    std::uint64_t joins() const;
    std::uint64_t misses() const;

  private:
    using Place = std::pair<std::string, std::uint64_t>;  // name, begin

    struct Run {
        Place place;
        Bytes bytes;
        bool whole = false;  // all of the object
        rt::MemoryAccount::Reservation reservation;
    };

    /// One range of one object; `end` is unbounded for all of it.
    struct Wanted {
        std::string name;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;

        auto operator<=>(const Wanted&) const = default;
    };

    /// Shared by the map, until the object is written or removed, and by who fetches.
    struct Fetch {
        std::vector<rt::Promise<Result<Bytes>>> waiters;
    };

    /// How a get goes on: with what is kept, with another's fetch, or with its own.
    struct Begun {
        std::optional<Bytes> kept;
        std::optional<rt::Future<Result<Bytes>>> joined;
        std::shared_ptr<Fetch> fetch;
    };

    class Fetching;
    using Runs = std::map<Place, std::list<Run>::iterator>;

    Begun begin(const Wanted& wanted);
    void end(
        const Wanted& wanted, const std::shared_ptr<Fetch>& fetch, const Result<Bytes>& result
    );
    std::optional<Bytes> find(const Wanted& wanted);
    void keep(const Wanted& wanted, const Bytes& bytes);
    Runs::iterator erase(Runs::iterator run);
    void forget(const std::string& name);

    ObjectStore& inner_;
    rt::MemoryAccount& account_;
    mutable std::mutex mutex_;  // of what follows
    std::list<Run> by_use_;     // the latest used first
    Runs runs_;
    std::map<Wanted, std::shared_ptr<Fetch>> fetches_;
    std::uint64_t hits_ = 0;
    std::uint64_t joins_ = 0;
    std::uint64_t misses_ = 0;
};

}  // namespace lakestream::objstore
