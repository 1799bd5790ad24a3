// SPDX-License-Identifier: Apache-2.0
// Leaves: what a production process stands on: clocks, threads, network, stores.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/metrics.h"
#include "base/result.h"
#include "meta/embedded/embedded_store.h"
#include "net/epoll/network.h"
#include "objstore/metrics_store.h"
#include "objstore/object_store.h"
#include "rt/disk_turns.h"
#include "rt/epoll/threads.h"
#include "server/node.h"
#include "server/process_metrics.h"
#include "server/settings.h"

namespace lakestream::server {

/// One process at a time works on a folder: an advisory lock, gone with the process.
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
    Status metadata_health() const { return metadata_->write_health(); }
    metrics::Registry& registry() { return registry_; }
    const ProcessMetrics& process() const { return *process_; }
    /// For a node. Precondition: opened with Open::create.
    CompactionSeams compaction();
    objstore::ObjectStore& compacted() { return *compacted_.counted; }
    objstore::ObjectStore& tables() { return *tables_.counted; }
    /// For blocking work.
    rt::Offloader& offloader() { return io_; }

  private:
    Leaves(const Settings& settings, FolderLock lock);
    Status lock_scratch();
    Status open_scratch();
    void register_metrics(const std::string& metadata);
    std::string scratch_folder() const;

    struct CountedStore {
        std::unique_ptr<objstore::ObjectStore> store;
        std::unique_ptr<objstore::MetricsStore> counted;
    };
    Result<CountedStore> open_store(std::string_view name);

    FolderLock lock_;
    std::optional<FolderLock> scratch_lock_;  // of a node
    rt::SystemClock clock_;
    metrics::Registry registry_;
    rt::DiskTurns disk_turns_;
    rt::LoopThreads loops_;
    rt::ThreadPool io_;
    rt::ThreadPool reads_;
    rt::ThreadPool background_;
    rt::ThreadPool resolver_;
    net::EpollNetwork network_{resolver_};
    std::optional<ProcessMetrics> process_;
    std::optional<metrics::Registrations> registrations_;
    CountedStore objects_;
    std::unique_ptr<meta::EmbeddedStore> metadata_;
    std::string storage_folder_;
    CountedStore compacted_;
    CountedStore tables_;
    std::unique_ptr<compact::SpillFiles> spill_;
};

}  // namespace lakestream::server
