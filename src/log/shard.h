// SPDX-License-Identifier: Apache-2.0
// Shard: the logs whose home is one executor: their order, fold state, tail cache and answers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "index/record.h"
#include "log/append_waiter.h"
#include "log/compacted_source.h"
#include "log/compaction_view.h"
#include "log/fold.h"
#include "log/pending.h"
#include "log/section_reader.h"
#include "log/settings.h"
#include "meta/metadata_store.h"
#include "objstore/object_store.h"
#include "rt/scope.h"
#include "rt/semaphore.h"

namespace lakestream::log {

/// What became of one published section.
struct SettleOutcome {
    SectionPtr resend;               // null when settled; without entries: given up
    std::optional<WallTime> redate;  // the object needs a name of at least this date
    bool new_writer = false;         // its writer is dead: give it a number of a new one
};

/// How one section's put was answered.
struct PutAnswer {
    SectionPtr section;
    /// Absent: the outcome is unknown.
    std::optional<Result<meta::PutDone>> put;
};

struct ShardMetrics {
    metrics::Counter entries;
    metrics::Counter duplicates;
    metrics::Counter voids;
    metrics::Counter folds_by_scan;
    metrics::Counter append_rejections;
    metrics::Gauge tail_bytes;
    // Payload read, by where it came from.
    metrics::Counter read_tail_bytes;
    metrics::Counter read_wal_bytes;
    metrics::Counter read_compacted_bytes;
};

/// What one object gets of a shard.
struct Segment {
    std::vector<SectionPtr> sections;
    bool more = false;  // there was no room for everything
};

/// Everything runs on the shard's executor. Owned by the engine.
class Shard {
  public:
    struct Seams {
        rt::Executor& executor;
        meta::MetadataStore& metadata;
        SectionReader& sections;
        CompactedSource* compacted;  // null: compacted records cannot be read
        rt::MemoryAccount& append_memory;
        std::uint64_t tail_bytes_max = 0;
        OpenBytes& open;  // of all shards
        /// The open segment is no longer empty, or the flusher has what it waits for. Any thread.
        std::function<void()> dirty;
    };

    Shard(std::size_t number, const EngineSettings& settings, Seams seams);
    Shard(const Shard&) = delete;
    Shard& operator=(const Shard&) = delete;
    ~Shard();

    /// Take entries into the open segment, in order. `slot`s of the call say where to answer.
    void append(
        std::vector<std::pair<std::size_t, AppendRequest>> requests,
        const std::shared_ptr<AppendCall>& call
    );
    /// Everything in the open segment, one section for each log, up to `bytes_max` of payload but
    /// for a larger single entry; the rest stays.
    rt::Task<Segment> take_segment(std::uint64_t bytes_max);
    /// From now on this writer of the log is ours: verdicts on its records are kept for `settle`.
    rt::Task<WallTime> adopt_writer(LogId log, std::uint64_t writer);
    /// Fold what was published, answer entries by verdict; sections of one log in the order of
    /// their numbers. One outcome for each, in order.
    rt::Task<std::vector<SettleOutcome>> settle(std::vector<PutAnswer> answers);

    rt::Task<Result<ReadBatch>> read(ReadRequest request);
    rt::Task<Result<LogBounds>> bounds(LogId log);
    /// As Engine::sizes and Engine::producers.
    rt::Task<Result<std::int64_t>> size(LogId log);
    rt::Task<Result<std::vector<ActiveProducer>>> producers(LogId log);
    void watch(LogPosition position, const std::shared_ptr<AppendWaiter>& waiter);
    /// From offset `from` on: the first index record that may hold `wanted` or later.
    rt::Task<Result<std::optional<TimestampHint>>> find_timestamp(
        LogId log, Offset from, std::int64_t wanted
    );
    /// As Engine::find_max_timestamp.
    rt::Task<Result<std::vector<TimestampHint>>> find_max_timestamp(LogId log);
    rt::Task<Result<LogBounds>> trim(LogId log, std::optional<Offset> to);
    rt::Task<void> fence(LogId log);
    rt::Task<std::vector<LogId>> take_grown();
    rt::Task<Result<std::vector<WalkRecord>>> walk(LogId log, Offset from, std::size_t limit);
    rt::Task<Result<Checkpoint>> checkpoint(LogId log, OffsetRange next);
    /// Another node wrote an index record that ends at `end`.
    void changed(LogId log, Offset end);
    /// Somebody trimmed it.
    void start_changed(LogId log);
    /// Changes of any log were lost: look before anybody waits for the next.
    void changes_lost();

    /// Settle nothing more that the metadata store does not answer for at once.
    void stop_waiting() { scope_.stop().request(); }
    /// Save the fold state of every log that has moved; stop background work.
    rt::Task<void> close();
    void abandon() { scope_.abandon(); }
    rt::Executor& executor() const noexcept { return seams_.executor; }
    const ShardMetrics& metrics() const noexcept { return metrics_; }

  private:
    enum class LoadState : std::uint8_t { absent, loading, loaded };

    struct TailEntry {
        OffsetRange range;
        Bytes payload;
        WallTime created;
        bool is_void = false;

        /// What it takes of the cache's budget: a void too, or many of them would be free.
        std::uint64_t cost() const { return payload.size() + sizeof(TailEntry) + tail_overhead; }
        static constexpr std::uint64_t tail_overhead = 96;  // of the payload's buffer, and an order
    };

    struct Log : std::enable_shared_from_this<Log> {
        explicit Log(LogId log_id) : id(log_id) {}

        const LogId id;
        LoadState state = LoadState::absent;
        bool fenced = false;
        rt::Semaphore folding{1};  // loads, scans and settling, one after the other
        FoldState fold;
        Offset start;
        Offset saved;                        // end of the stored snapshot
        std::size_t folded_since_saved = 0;  // index records
        bool saving = false;
        bool catching_up = false;
        bool start_changed = false;         // it was trimmed since `start` was read
        Offset announced;                   // the largest end that a change of another node told
        bool changes_lost = false;          // there may be more than was announced
        std::deque<TailEntry> tail;         // joins fold.end; may be empty
        std::vector<PendingEntry> waiting;  // for the log to be loaded
        std::vector<std::weak_ptr<AppendWaiter>> waiters;
        std::size_t waiters_swept = 0;           // of so many, those who gave up are looked for
        std::vector<std::uint64_t> our_writers;  // the newest last
        /// Verdicts on records of ours that no section has asked for yet: by writer and number.
        std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<EntryVerdict>> unclaimed;

        bool is_ours(std::uint64_t writer) const {
            return std::ranges::find(our_writers, writer) != our_writers.end();
        }
    };

    struct Arrival;

    /// How long something missing is looked for.
    struct Patience {
        Deadline deadline;
        Duration backoff;
    };

    /// One index record on its way into an answer.
    struct Step {
        OffsetRange range;
        WallTime created;
        std::string key;
        index::IndexRecord value;
        std::shared_ptr<Arrival> section;  // shared with the task that fetches; null: none needed
    };

    /// A read from the index, in progress.
    struct Reading {
        Offset from;  // where to go on
        std::uint64_t bytes_max = 0;
        Deadline patience;
        Offset end;
        Offset joined;            // end of the steps so far
        std::uint64_t begun = 0;  // bytes of all steps so far
        std::uint64_t bytes = 0;  // in `entries`
        bool last = false;        // no further record is wanted
        bool full = false;
        std::deque<Step> ahead;
        std::vector<ReadEntry> entries;

        /// False when the entry has no room any more.
        bool add(ReadEntry entry);
    };

    /// One index record and the newest timestamp in it, if that is known, and whether a record that
    /// counts has it; false ends the walk.
    using VisitTimestamp = std::function<bool(OffsetRange, std::optional<std::int64_t>, bool)>;

    using LogPtr = std::shared_ptr<Log>;  // shared by the map and what is in progress on the log

    LogPtr log(LogId id);
    /// Payload that joined the open segment.
    std::uint64_t admit(Log& log, PendingEntry entry);
    /// After `bytes` have joined the segment, which had `entries`.
    void tell_flusher(std::size_t entries, std::uint64_t bytes);
    rt::Task<void> load_in_background(LogPtr log);
    rt::Task<Status> ensure_loaded(Log& log);
    rt::Task<Status> load(Log& log);
    /// Fold everything up to `end` (none: up to what the store has now). Holds `folding`.
    rt::Task<Status> scan_to(Log& log, std::optional<Offset> end);
    rt::Task<Status> refresh(Log& log);
    rt::Task<Status> refresh_start(Log& log);
    rt::Task<Status> refresh_to(Log& log, Offset from);
    rt::Task<Status> scan_joined(Log& log, std::optional<Offset> end);
    Status fold_scanned(Log& log, const meta::Record& record);
    rt::Task<Result<bool>> rejoin(Log& log);
    rt::Task<SettleOutcome> settle_one(Log& log, PutAnswer answer);
    rt::Task<Status> scan_for_verdict(Log& log);
    /// The index is not what this node has folded: the log was deleted or trimmed, or is damaged.
    rt::Task<Error> find_cause(Log& log, Error error);
    SettleOutcome finish(Log& log, SectionPtr section, const std::vector<EntryVerdict>& verdicts);
    std::optional<std::vector<EntryVerdict>> claim(Log& log, const Section& section);
    void fold_own(Log& log, Section& section, const meta::PutDone& done);
    void answer_entries(Log& log, Section& section, const std::vector<EntryVerdict>& verdicts);
    void push_tail(Log& log, TailEntry entry);
    void drop_tail(Log& log);
    void evict_tails();
    void grew(Log& log);
    void fire(Log& log);
    rt::Task<Status> save(Log& log);
    rt::Task<void> save_in_background(LogPtr log);
    rt::Task<Result<ReadBatch>> read_index(Log& log, ReadRequest request);
    rt::Task<Status> walk_index(Log& log, Reading& reading);
    bool has_enough(const Reading& reading) const;
    bool may_begin(const Reading& reading) const;
    Status begin_step(Log& log, const meta::Record& record, Reading& reading);
    rt::Task<Status> finish_step(Log& log, Step step, Reading& reading);
    rt::Task<void> fetch_section(
        LogId log, std::string key, index::IndexRecord record, std::shared_ptr<Arrival> arrival
    );
    rt::Task<Status> read_compacted(Log& log, Step step, Reading& reading);
    /// What an index record refers to is missing. Perhaps the record was replaced or trimmed
    /// meanwhile: `conflict`. Ok: look for it again, after a pause; what is `missing` for
    /// `damage_patience` is `corrupt`.
    rt::Task<Status> look_again(
        LogId log,
        const std::string& key,
        const index::IndexRecord& record,
        Error missing,
        Patience& patience
    );
    rt::Task<Result<SectionDataPtr>> read_section(
        LogId log, std::string key, index::IndexRecord record
    );
    rt::Task<Result<WalkRecord>> record_near(LogId log, std::string key, meta::Comparison where);
    rt::Task<Status> visit_timestamps(Log& log, Offset from, VisitTimestamp visit);
    ReadBatch read_tail(const Log& log, const ReadRequest& request);
    bool behind(const Log& log) const {
        return log.changes_lost || log.start_changed || log.fold.end < log.announced;
    }
    void start_catch_up(const LogPtr& log);
    rt::Task<void> catch_up(LogPtr kept);

    const std::size_t number_;
    const EngineSettings& settings_;
    Seams seams_;
    rt::TaskScope scope_;
    std::unordered_map<LogId, LogPtr> logs_;  // walked only to save, order free
    /// Fenced here and forgotten: what is still on its way to one of them is refused.
    std::unordered_set<LogId> deleted_;
    std::deque<PendingEntry> segment_;
    std::set<LogId> grown_;        // since the last `take_grown`
    std::deque<Log*> tail_order_;  // one for each tail entry, oldest first
    std::uint64_t tail_bytes_ = 0;
    ShardMetrics metrics_;
};

}  // namespace lakestream::log
