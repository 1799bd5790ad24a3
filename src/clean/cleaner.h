// SPDX-License-Identifier: Apache-2.0
// Cleaner: the background role that applies retention and deletes what nobody needs.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "catalog/catalog.h"
#include "clean/compacted_pass.h"
#include "clean/metrics.h"
#include "clean/references.h"
#include "clean/retainer.h"
#include "clean/settings.h"
#include "clean/wal_pass.h"
#include "log/compaction_view.h"
#include "log/engine.h"
#include "meta/metadata_store.h"
#include "objstore/object_store.h"
#include "rt/scope.h"

namespace lakestream::clean {

/// Runs on one executor, one step at a time, each a request to a store: nothing it does holds back
/// an append. All it remembers can be lost. While nothing in the metadata store changes and nothing
/// waits, it sends nothing (INV-IDLE). Any number of nodes may clean at the same time.
class Cleaner {
  public:
    struct Seams {
        rt::Executor& executor;
        log::Engine& engine;
        log::CompactionView& view;
        catalog::Catalog& catalog;
        meta::MetadataStore& metadata;
        objstore::ObjectStore& wal;
        objstore::ObjectStore& compacted;
        metrics::Registry& metrics;
    };

    Cleaner(CleanSettings settings, Seams seams);
    Cleaner(const Cleaner&) = delete;
    Cleaner& operator=(const Cleaner&) = delete;
    ~Cleaner();

    void start();
    rt::Task<void> close();
    void abandon();
    const CleanMetrics& metrics() const noexcept { return metrics_; }

    /// One cleaning pass, whether there is reason for one or not: a stretch of a round over all
    /// WAL objects and then all compacted ones.
    rt::Task<Status> pass();
    /// One look at what has expired.
    rt::Task<Status> apply_retention();

  private:
    rt::Task<void> run_passes();
    rt::Task<void> run_retention();
    rt::Task<void> follow();
    bool due() const;
    bool in_round() const { return !wal_.at_begin() || !compacted_.at_begin(); }
    rt::Task<Result<PassTime>> begin_pass();
    rt::Task<Status> hard_trims();
    rt::Task<Result<std::map<LogId, Offset>>> load_starts();
    rt::Task<void> hard_trim_one(LogId log, Offset start);
    rt::Task<Status> clean_stretch(PassTime time);

    const CleanSettings settings_;
    Seams seams_;
    CleanMetrics metrics_;
    metrics::Registrations registrations_;
    WalCleaner wal_;
    CompactedCleaner compacted_;
    Retainer retainer_;
    std::unique_ptr<meta::Subscription> changes_;
    bool changed_ = true;              // in the metadata store, since the last round began
    std::optional<MonoTime> next_;     // something is older then
    std::map<LogId, Offset> trimmed_;  // starts up to which index records were deleted
    rt::TaskScope scope_;
};

}  // namespace lakestream::clean
