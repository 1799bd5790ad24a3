// SPDX-License-Identifier: Apache-2.0
// NodeEngine: the log engine of one node, over its shards.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/metrics.h"
#include "log/compacted_source.h"
#include "log/compaction_view.h"
#include "log/engine.h"
#include "log/flusher.h"
#include "log/section_reader.h"
#include "log/settings.h"
#include "log/shard.h"

namespace lakestream::log {

/// Routes calls to home shards and watches deadlines. Made by the composition root, which starts it
/// before anything appends and closes it before the executors end.
class NodeEngine final : public Engine, public CompactionView {
  public:
    struct Seams {
        std::vector<rt::Executor*> executors;  // one for each shard; the flusher lives on the first
        objstore::ObjectStore& objects;
        meta::MetadataStore& metadata;
        metrics::Registry& metrics;
        CompactedSource* compacted = nullptr;  // null: compacted records cannot be read
    };

    NodeEngine(EngineSettings settings, Seams seams);
    NodeEngine(const NodeEngine&) = delete;
    NodeEngine& operator=(const NodeEngine&) = delete;
    ~NodeEngine() override;

    /// Call on the first executor, once.
    rt::Task<Status> start();
    /// Settle what was taken until the deadline, save fold states, stop. On the first executor.
    rt::Task<void> close(Deadline deadline);
    /// Crash (simulation only): forget everything as it stands.
    void abandon();

    rt::Future<std::vector<Result<Appended>>> append(
        std::vector<AppendRequest> requests, Deadline deadline
    ) override;
    rt::Future<std::vector<Result<ReadBatch>>> read(std::vector<ReadRequest> requests) override;
    rt::Future<std::vector<Result<LogBounds>>> bounds(std::vector<LogId> logs) override;
    rt::Future<std::vector<Result<std::int64_t>>> sizes(std::vector<LogId> logs) override;
    rt::Task<Result<std::vector<ActiveProducer>>> producers(LogId log) override;
    rt::Task<bool> wait_append(std::vector<LogPosition> positions, Deadline deadline) override;
    rt::Task<Result<std::optional<TimestampHint>>> find_timestamp(
        LogId log, std::int64_t timestamp, Offset from
    ) override;
    rt::Task<Result<std::vector<TimestampHint>>> find_max_timestamp(LogId log) override;
    rt::Task<Result<LogBounds>> trim(LogId log, std::optional<Offset> to) override;
    rt::Task<void> fence(LogId log) override;
    rt::Task<std::vector<LogId>> take_grown() override;
    rt::Task<Result<std::vector<WalkRecord>>> walk(LogId log, Offset from, std::size_t limit)
        override;
    rt::Task<Result<Checkpoint>> checkpoint(LogId log, OffsetRange next) override;
    rt::Task<bool> settle(Deadline deadline) override;

    /// How long the oldest entry that was taken from its shard has waited to become durable; 0:
    /// none waits. On the first executor.
    Duration durability_lag() const;
    std::size_t objects_waiting() const noexcept { return flusher_->waiting(); }
    /// As Flusher::store_health. On the first executor.
    Status store_health() const { return flusher_->store_health(); }
    const FlusherMetrics& flusher_metrics() const noexcept { return flusher_->metrics(); }

    /// The shard a log lives on.
    std::size_t home(LogId log) const noexcept;

  private:
    struct DeadlineWatch;

    void register_flusher();
    void register_shards();
    void register_memory();
    rt::Task<void> watch_deadlines();
    void note_changes(const meta::ChangeBatch& batch);
    void note_gap();

    const EngineSettings settings_;
    Seams seams_;
    rt::MemoryAccount append_memory_;
    OpenBytes open_;
    rt::SharedSemaphore section_reads_;  // bytes
    std::vector<std::unique_ptr<SectionReader>> readers_;
    std::vector<std::unique_ptr<Shard>> shards_;
    std::unique_ptr<Flusher> flusher_;
    std::unique_ptr<DeadlineWatch> deadlines_;
    std::unique_ptr<meta::Subscription> subscription_;
    metrics::Registrations registrations_;
    rt::TaskScope scope_;
};

}  // namespace lakestream::log
