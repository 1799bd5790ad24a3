// SPDX-License-Identifier: Apache-2.0
// Metadata in memory: MemoryMetadata is the service that all nodes share, MemoryStore one node's
// client of it. For tests, and for the simulator, where the service survives the nodes.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meta/change_feed.h"
#include "meta/metadata_store.h"
#include "meta/shard_state.h"
#include "rt/executor.h"

namespace lakestream::meta {

struct MemoryOptions {
    std::size_t shards = 1;
    KeyOrder key_order = KeyOrder::hierarchical;
    std::size_t scan_page_records = 1000;
};

/// The service: shards 0 to n-1, each an ordered map; batches are applied whole, one at a time.
/// Created times are those of its own clock. Thread-safe. Sessions expire by timers on `executor`:
/// destroy it there, or when that executor has stopped.
class MemoryMetadata {
  public:
    explicit MemoryMetadata(rt::Executor& executor, MemoryOptions options = {});
    MemoryMetadata(const MemoryMetadata&) = delete;
    MemoryMetadata& operator=(const MemoryMetadata&) = delete;

    const MemoryOptions& options() const noexcept { return options_; }
    ShardId shard_of(std::string_view partition_key) const noexcept;
    std::vector<ShardId> shards() const;

    Result<ShardBatchDone> write(ShardId shard, ShardBatch batch);
    Result<Record> get(const Get& request) const;
    Result<std::vector<Record>> scan(const Range& range) const;
    Result<std::vector<std::string>> list(const Range& range) const;
    Result<SessionId> open_session(Duration timeout, std::string identity);
    /// `not_found` when it has ended.
    Status keep_alive(SessionId session);
    /// Also what an expiry does.
    Status close_session(SessionId session);
    std::unique_ptr<Subscription> subscribe(rt::Executor& executor, SubscribeHandler handler);

  private:
    using RecordMap = std::map<std::string, StoredRecord, std::less<>>;  // by encoded key
    class Records;

    struct Shard {
        RecordMap records;
        ShardState state;
    };

    std::vector<const Shard*> asked(const std::optional<std::string>& partition_key) const;
    std::optional<RecordMap::const_iterator> look_up(
        const Shard& shard, Comparison comparison, std::string_view encoded
    ) const;
    Record record(RecordMap::const_iterator found) const;
    std::vector<RecordMap::const_iterator> matching(const Range& range) const;
    void arm_expiry(SessionId session, MonoTime when);
    void expire_if_due(SessionId session);

    rt::Executor& executor_;
    MemoryOptions options_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // timers hold it weakly
    mutable std::mutex mutex_;
    std::vector<Shard> shards_;
    std::map<SessionId, MonoTime> deadlines_;
    ChangeFeed feed_;
};

/// A node's client. Answers come later, on the node's executor; sessions live by heartbeats from
/// there, so a node that is paused for longer than the timeout loses its sessions, and learns it
/// when it goes on. Destroying it closes nothing: its sessions expire. Destroy it on its executor,
/// or when that has stopped. The service outlives it.
class MemoryStore final : public MetadataStore {
  public:
    MemoryStore(MemoryMetadata& service, rt::Executor& executor)
        : service_(service), executor_(executor) {}

    KeyOrder key_order() const override { return service_.options().key_order; }
    ShardId shard_of(std::string_view key) const override { return service_.shard_of(key); }
    std::vector<ShardId> shards() const override { return service_.shards(); }

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
    void schedule_heartbeat(SessionId session, Duration period);
    void heartbeat(SessionId session, Duration period);

    MemoryMetadata& service_;
    rt::Executor& executor_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // timers hold it weakly
    std::mutex mutex_;
    std::map<SessionId, std::move_only_function<void()>> sessions_;  // what to call when lost
};

}  // namespace lakestream::meta
