// SPDX-License-Identifier: Apache-2.0
// Flusher: open segments become objects, objects become index records, in order.
#pragma once

#include <array>
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

/// Why an object was cut when it was.
enum class FlushCause : std::uint8_t {
    idle,    // nothing was in the way
    linger,  // the wait for more was over
    slot,    // an upload, or the objects before it, had to end first
    full,    // it holds no more
};

inline constexpr std::size_t flush_causes = 4;

struct FlusherMetrics {
    FlusherMetrics()
        : latency(metrics::latency_bounds),
          age(metrics::latency_bounds),
          size(metrics::size_bounds) {}

    metrics::Counter objects;  // stored
    metrics::Counter object_bytes;
    metrics::Counter put_failures;
    metrics::Counter publishes;        // shard batches that were answered
    metrics::Counter publish_unknown;  // shard batches whose outcome had to be looked up
    metrics::Counter resends;          // sections sent again
    metrics::Counter abandoned;        // sections dropped before they were ever sent
    metrics::Histogram latency;        // from stored to settled
    metrics::Histogram age;            // of the oldest entry when its object is cut
    metrics::Histogram size;           // of objects
    std::array<metrics::Counter, flush_causes> cuts;
    metrics::LastSuccess stored;
    metrics::LastSuccess published;
};

/// One per node, on one executor. Self-clocking: the next object is cut when those before it are
/// answered, so a lone producer does not wait and a busy node makes large objects; where that takes
/// long or brings much, uploads run side by side; publishing goes in the order of sealing, one
/// shard batch per metadata shard at a time, which carries everything that was stored meanwhile. A
/// failed flush holds back those behind it.
///
/// Cost: 1 PUT per object; 1 metadata write per batch and metadata shard. Idle: nothing.
class Flusher {
  public:
    struct Seams {
        rt::Executor& executor;
        objstore::ObjectStore& objects;
        meta::MetadataStore& metadata;
        std::vector<Shard*> shards;
        OpenBytes& open;
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
    // On its executor:
    /// Wait until every object that was cut before is published or dropped. Whether it was so
    /// before the deadline.
    rt::Task<bool> settle_begun(Deadline deadline);
    /// Objects that were cut and are not published.
    std::size_t waiting() const noexcept { return queue_.size(); }
    /// When the oldest entry was received that was cut and is not published; none: there is none.
    std::optional<MonoTime> oldest() const noexcept;
    /// Why the newest attempt to store an object failed, if that was less than 30 s ago.
    Status store_health() const;

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

    /// What one publish takes: all that is stored in order.
    struct Stored {
        std::vector<SectionPtr> sections;
        std::uint64_t bytes = 0;  // of payload
        MonoTime sealed;          // the first object
        MonoTime received;        // the oldest entry
    };

    struct Answered {
        MonoTime at;
        Duration took{0};               // since the first object in it was sealed
        std::uint64_t outstanding = 0;  // payload in it, and what was open at its end
    };

    struct Writer {
        WriterStamp next;
        WallTime last_date;
    };

    struct Written {
        std::vector<PutAnswer> answers;
        std::optional<Error> error;  // of a batch that failed as a whole
    };

    rt::Task<void> seal_loop();
    rt::Task<void> seal_once(FlushCause cause);
    /// Whether it had to wait.
    rt::Task<bool> wait_for_more();
    rt::Task<Segment> gather();
    ObjectPtr build(std::vector<SectionPtr> sections, WallTime date_min);
    void drop_aged(std::vector<SectionPtr>& sections);
    rt::Task<void> upload_with_slot(ObjectPtr object, rt::Semaphore::Units slot);
    rt::Task<void> upload(ObjectPtr object);
    void fail_from(const ObjectPtr& object, const Error& error);

    rt::Task<void> publish_loop();
    Stored take_stored();
    void note_cut(const Object& object, FlushCause cause);
    rt::Task<void> publish(std::vector<SectionPtr> sections);
    rt::Task<void> number(Section& section);
    rt::Task<Written> write(std::vector<SectionPtr> sections);
    /// What the metadata store refuses for long: its clients are told, and try again.
    void give_up(std::vector<SectionPtr>& sections, const Error& error);
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
    std::uint64_t taken_ = 0;                    // of the queue since the start
    std::uint64_t settled_ = 0;                  // of those
    std::size_t publishing_ = 0;                 // sections being published
    std::optional<MonoTime> publishing_oldest_;  // when the oldest of their entries was received
    Answered answered_;                          // by the newest publish
    std::unordered_map<LogId, Writer> writers_;  // looked up by log only
    std::optional<std::pair<MonoTime, Error>> store_failed_;  // the newest attempt
    FlusherMetrics metrics_;
};

}  // namespace lakestream::log
