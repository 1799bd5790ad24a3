// SPDX-License-Identifier: Apache-2.0
// ForwardingStore: passes everything on. Test doubles derive from it and change a part.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "objstore/object_store.h"

namespace lakestream::objstore {

class ForwardingStore : public ObjectStore {
  public:
    /// `to` is used from the first call on, and outlives this.
    explicit ForwardingStore(ObjectStore& to) : to_(to) {}

    rt::Task<Status> put(std::string name, Slices body, IfExists if_exists) override {
        co_return co_await to_.put(std::move(name), std::move(body), if_exists);
    }
    rt::Task<Result<Bytes>> get(std::string name, std::optional<ByteRange> range) override {
        co_return co_await to_.get(std::move(name), range);
    }
    rt::Task<Result<ObjectInfo>> head(std::string name) override {
        co_return co_await to_.head(std::move(name));
    }
    rt::Task<Result<ListPage>> list(std::string prefix, std::string after, std::uint32_t limit)
        override {
        co_return co_await to_.list(std::move(prefix), std::move(after), limit);
    }
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override {
        co_return co_await to_.remove(std::move(names));
    }

  private:
    ObjectStore& to_;
};

}  // namespace lakestream::objstore
