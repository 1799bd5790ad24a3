// SPDX-License-Identifier: Apache-2.0
// Flusher: open segments become objects, objects become index records, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/metrics.h"
#include "base/slices.h"
#include "log/pending.h"
#include "log/settings.h"
#include "log/shard.h"
#include "meta/metadata_store.h"
#include "objstore/object_store.h"
#include "rt/scope.h"
#include "rt/semaphore.h"
#include "rt/signal.h"

namespace lakestream::log {

struct FlusherMetrics {
    FlusherMetrics() : latency(metrics::latency_bounds) {}

    metrics::Counter objects;  // stored
    metrics::Counter object_bytes;
    metrics::Counter put_failures;
    metrics::Counter publishes;        // shard batches that were answered
    metrics::Counter publish_unknown;  // shard batches whose outcome had to be looked up
    metrics::Counter resends;          // sections sent again
    metrics::Counter abandoned;        // sections dropped before they were ever sent
    metrics::Histogram latency;        // from sealing to settled
};

/// One per node, on one executor. Self-clocking: the next object is cut when an upload slot is
/// free, so a lone producer does not wait and a busy node makes large objects. Uploads run side by
/// side; publishing goes in the order of sealing, one shard batch per metadata shard at a time,
/// which carries everything that was stored meanwhile. A failed flush holds back those behind it.
///
/// Cost: 1 PUT per object; 1 metadata write per batch and metadata shard. Idle: nothing.
class Flusher {
  public:
    struct Seams {
        rt::Executor& executor;
        objstore::ObjectStore& objects;
        meta::MetadataStore& metadata;
        std::vector<Shard*> shards;
    };

    Flusher(const EngineSettings& settings, Seams seams);
    Flusher(const Flusher&) = delete;
    Flusher& operator=(const Flusher&) = delete;
    ~Flusher();

    void start();
    /// A shard has entries in its open segment. Any thread.
    void dirty(std::size_t shard);
    /// Flush what is open and wait until it is settled or the deadline passes, then stop.
    rt::Task<void> close(Deadline deadline);
    void abandon() { scope_.abandon(); }
    const FlusherMetrics& metrics() const noexcept { return metrics_; }

  private:
    /// One object from sealing until its sections are settled.
    struct Object {
        std::string name;
        Slices body;
        std::vector<SectionPtr> sections;
        MonoTime sealed;
        MonoTime received;  // of its oldest entry
        bool stored = false;
        std::optional<Error> dropped;
    };

    using ObjectPtr = std::shared_ptr<Object>;  // shared by the queue and the upload

    struct Writer {
        WriterStamp next;
        WallTime last_date;
    };

    rt::Task<void> seal_loop();
    rt::Task<void> seal_once();
    rt::Task<std::vector<SectionPtr>> gather();
    ObjectPtr build(std::vector<SectionPtr> sections, WallTime date_min);
    void drop_aged(std::vector<SectionPtr>& sections);
    rt::Task<void> upload_with_slot(ObjectPtr object, rt::Semaphore::Units slot);
    rt::Task<void> upload(ObjectPtr object);
    void fail_from(const ObjectPtr& object, const Error& error);

    rt::Task<void> publish_loop();
    std::vector<SectionPtr> take_stored();
    rt::Task<void> publish(std::vector<SectionPtr> sections);
    rt::Task<void> number(Section& section);
    rt::Task<std::vector<PutAnswer>> write(std::vector<SectionPtr> sections);
    rt::Task<std::vector<SectionPtr>> settle(std::vector<PutAnswer> answers);
    rt::Task<SectionPtr> prepare_resend(SettleOutcome outcome);
    void drop_given_up(std::vector<SectionPtr>& sections);

    const EngineSettings& settings_;
    Seams seams_;
    rt::TaskScope scope_;
    std::vector<bool> dirty_;
    rt::Signal work_;      // something is dirty
    rt::Signal progress_;  // an object was stored, dropped or settled
    rt::Semaphore slots_;
    std::deque<ObjectPtr> queue_;                // sealed, in order
    std::size_t publishing_ = 0;                 // sections being published
    std::unordered_map<LogId, Writer> writers_;  // looked up by log only
    FlusherMetrics metrics_;
};

}  // namespace lakestream::log
