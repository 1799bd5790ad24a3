// SPDX-License-Identifier: Apache-2.0
// MemoryStore: a bucket in memory, as strict as the strictest real one.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "objstore/object_store.h"
#include "rt/clock.h"

namespace lakestream::objstore {

/// The objects. Outlives the nodes that share it: what a put has stored survives any node's crash.
/// Thread-safe. Keeps the slices it is given, so a put copies nothing.
class MemoryBucket {
  public:
    /// `clock` is the service's: it dates the objects.
    explicit MemoryBucket(const rt::Clock& clock) : clock_(clock) {}
    MemoryBucket(const MemoryBucket&) = delete;
    MemoryBucket& operator=(const MemoryBucket&) = delete;

    Status put(const std::string& name, Slices body, IfExists if_exists);
    Result<Bytes> get(const std::string& name, const std::optional<ByteRange>& range) const;
    Result<ObjectInfo> head(const std::string& name) const;
    Result<ListPage> list(const std::string& prefix, const std::string& after, std::uint32_t limit)
        const;
    Status remove(const std::string& name);

    std::size_t size() const;
    /// Bytes of all objects.
    std::uint64_t bytes() const;

  private:
    struct Object {
        Slices body;
        WallTime modified;
    };
    using Objects = std::map<std::string, Object, std::less<>>;

    Status check_folders(const std::string& name) const;

    const rt::Clock& clock_;
    mutable std::mutex mutex_;
    Objects objects_;
};

/// One node's way to a bucket: a request takes effect at one instant, never inside the call that
/// asks for it. A node that dies before that instant has asked for nothing.
class MemoryStore final : public ObjectStore {
  public:
    explicit MemoryStore(MemoryBucket& bucket) : bucket_(bucket) {}

    rt::Task<Status> put(std::string name, Slices body, IfExists if_exists) override;
    rt::Task<Result<Bytes>> get(std::string name, std::optional<ByteRange> range) override;
    rt::Task<Result<ObjectInfo>> head(std::string name) override;
    rt::Task<Result<ListPage>> list(std::string prefix, std::string after, std::uint32_t limit)
        override;
    rt::Task<std::vector<Status>> remove(std::vector<std::string> names) override;

  private:
    MemoryBucket& bucket_;
};

}  // namespace lakestream::objstore
