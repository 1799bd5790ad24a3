// SPDX-License-Identifier: Apache-2.0
// Leaves: what a production process stands on: clocks, threads, network, stores.
#pragma once

#include <memory>
#include <string>

#include "base/metrics.h"
#include "base/result.h"
#include "meta/metadata_store.h"
#include "net/epoll/network.h"
#include "objstore/metrics_store.h"
#include "objstore/object_store.h"
#include "rt/epoll/threads.h"
#include "server/node.h"
#include "server/settings.h"

namespace lakestream::server {

/// One process at a time works on a data folder: an advisory lock, gone with the process.
class FolderLock {
  public:
    /// Errors: `already_exists` (another process has it: its pid), `unsupported` (no right).
    static Result<FolderLock> take(const std::string& folder);
    FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FolderLock& operator=(FolderLock&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;
    ~FolderLock();

  private:
    explicit FolderLock(int fd) : fd_(fd) {}

    int fd_;
};

enum class Open : std::uint8_t {
    create,    // make folders that are missing
    existing,  // for tools: what is missing is an error, and nothing is written to scratch folders
};

/// Opened in order and dropped in reverse, after all that uses them has stopped.
class Leaves {
  public:
    /// Blocks. Errors name the folder and what to do.
    static Result<std::unique_ptr<Leaves>> open(const Settings& settings, Open mode);

    rt::LoopThreads& loops() { return loops_; }
    net::Network& network() { return network_; }
    objstore::ObjectStore& objects() { return *objects_.counted; }
    meta::MetadataStore& metadata() { return *metadata_; }
    metrics::Registry& registry() { return registry_; }
    /// For a node. Precondition: opened with Open::create.
    CompactionSeams compaction();
    objstore::ObjectStore& compacted() { return *compacted_.counted; }
    objstore::ObjectStore& tables() { return *tables_.counted; }
    /// For blocking work.
    rt::Offloader& offloader() { return io_; }

  private:
    Leaves(const Settings& settings, FolderLock lock);
    Status open_scratch();
    std::string scratch_folder() const;

    struct CountedStore {
        std::unique_ptr<objstore::ObjectStore> store;
        std::unique_ptr<objstore::MetricsStore> counted;
    };
    Result<CountedStore> open_store(std::string_view name);

    FolderLock lock_;
    rt::SystemClock clock_;
    metrics::Registry registry_;
    rt::LoopThreads loops_;
    rt::ThreadPool io_;
    rt::ThreadPool background_;
    rt::ThreadPool resolver_;
    net::EpollNetwork network_{resolver_};
    CountedStore objects_;
    std::unique_ptr<meta::MetadataStore> metadata_;
    std::string storage_folder_;
    CountedStore compacted_;
    CountedStore tables_;
    std::unique_ptr<compact::SpillFiles> spill_;
};

}  // namespace lakestream::server
