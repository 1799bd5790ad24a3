// SPDX-License-Identifier: Apache-2.0
// RetryStore: asks again after passing failures.
#pragma once

#include <type_traits>

#include "objstore/object_store.h"

namespace lakestream::objstore {

struct RetryOptions {
    Duration patience = 30s;  // no attempt begins later than this after the first
    std::uint32_t attempts_max = 8;
    Duration backoff_min = 50ms;  // doubles with each attempt; the wait is random in (half, whole]
    Duration backoff_max = 2s;    // `throttled` may ask for more
};

/// Repeats a request that ended `unavailable`, `throttled` or `deadline_exceeded`. A put whose
/// outcome is unknown is repeated if it may overwrite (the same bytes), else the caller has to
/// look; once it was unknown, only success settles it, so that no later refusal is taken for "not
/// applied". A remove repeats the names that failed. Cost: up to attempts_max requests.
class RetryStore final : public ObjectStore {
  public:
    RetryStore(ObjectStore& inner, RetryOptions options) : inner_(inner), options_(options) {}

    rt::Task<Status> put(std::string name, Slices body, IfExists if_exists) override;
    rt::Task<Result<Bytes>> get(std::string name, std::optional<ByteRange> range) override;
    rt::Task<Result<ObjectInfo>> head(std::string name) override;
    rt::Task<Result<ListPage>> list(std::string prefix, std::string after, std::uint32_t limit)
        override;
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override;

  private:
    template <class T, class... Args>
    rt::Task<Result<T>> repeat(
        rt::Task<Result<T>> (ObjectStore::*call)(Args...), std::type_identity_t<Args>... args
    );

    ObjectStore& inner_;
    RetryOptions options_;
};

}  // namespace lakestream::objstore
