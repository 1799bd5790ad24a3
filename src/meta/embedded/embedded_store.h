// SPDX-License-Identifier: Apache-2.0
// EmbeddedStore: metadata in a folder of this machine, for one process.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "meta/metadata_store.h"
#include "rt/disk_turns.h"
#include "rt/executor.h"
#include "rt/offload.h"

namespace lakestream::meta {

namespace embedded {
struct Environment;
}

struct EmbeddedOptions {
    std::string folder;
    std::size_t block_cache_bytes = std::size_t{8} << 20;
    std::size_t write_buffer_bytes = std::size_t{8} << 20;
    /// Writes that wait; above it they are `throttled`.
    std::size_t queue_bytes_max = std::size_t{64} << 20;
    std::size_t scan_page_records = 1000;
    const embedded::Environment* environment = nullptr;  // null: the machine's own
    rt::DiskTurns* turns = nullptr;  // with reads that give way to commits, if there are any
};

/// One shard, hierarchical order, records in RocksDB. Writes that come while one is being made
/// durable are committed together, in order, with one fsync; acknowledged means fsynced. A get is
/// answered inside the call when memory has the answer, else, as all scans, by `offloader`.
/// Sessions live as long as the store; those that an earlier process left get their full timeout
/// again.
///
/// A failed commit is `outcome_unknown`; later writes are `unavailable` or `exhausted` until the
/// disk works again, then they go on. Notifications reach only subscribers of this process.
class EmbeddedStore final : public MetadataStore {
  public:
    /// Open or create; blocks for the disk. `executor` gives time, and timers for sessions that an
    /// earlier process left. All three outlive the store, scans included.
    ///
    /// Errors: `unavailable` (another process has the folder, or it cannot be written), `corrupt`
    /// (bytes are kept), `exhausted` (disk full).
    static Result<std::unique_ptr<EmbeddedStore>> open(
        EmbeddedOptions options,
        rt::Executor& executor,
        rt::Offloader& offloader,
        metrics::Registry& registry
    );
    EmbeddedStore(const EmbeddedStore&) = delete;
    EmbeddedStore& operator=(const EmbeddedStore&) = delete;
    /// Waits for the commit that is being made; what waits behind it is `cancelled`. Closes no
    /// session.
    ~EmbeddedStore() override;

    /// Why the newest write failed, if it did and that is not long ago (half a minute): a store
    /// that nobody writes to any more is given another chance. Thread-safe. Cost: none.
    Status write_health() const;

    KeyOrder key_order() const override { return KeyOrder::hierarchical; }
    ShardId shard_of(std::string_view) const override { return ShardId(0); }
    std::vector<ShardId> shards() const override { return {ShardId(0)}; }

    rt::Future<Result<ShardBatchDone>> write(ShardId shard, ShardBatch batch) override;
    rt::Future<Result<Record>> get(Get request) override;
    std::unique_ptr<Scan> scan(Range range) override;
    rt::Future<Result<std::vector<std::string>>> list(Range range) override;
    rt::Future<Result<SessionId>> open_session(
        Duration timeout, std::string identity, std::move_only_function<void()> on_lost
    ) override;
    rt::Future<Status> close_session(SessionId session) override;
    rt::Future<Result<std::unique_ptr<Subscription>>> subscribe(
        rt::Executor& executor, SubscribeHandler handler
    ) override;

  private:
    class Core;

    explicit EmbeddedStore(std::shared_ptr<Core> core) : core_(std::move(core)) {}

    std::shared_ptr<Core> core_;  // shared with work that the offloader has not begun
};

}  // namespace lakestream::meta
