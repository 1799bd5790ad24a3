// SPDX-License-Identifier: Apache-2.0
// Compactor: one decode, two cuts: table files at the commit interval, compacted objects at their
// size or age.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "catalog/catalog.h"
#include "compact/compacted_objects.h"
#include "compact/decode_rows.h"
#include "compact/ingest.h"
#include "compact/merge.h"
#include "compact/new_pair.h"
#include "compact/replace.h"
#include "compact/spill.h"
#include "compact/table_sink.h"
#include "log/compaction_view.h"
#include "log/engine.h"
#include "rt/scope.h"

namespace lakestream::compact {

struct CompactorSettings {
    Duration tick = 500ms;                           // between two looks at what has grown
    Duration table_interval = 60s;                   // between two commits of one table
    std::uint64_t table_file_bytes_max = 128 << 20;  // payload in one data file
    /// Of WAL objects in the first round after a start; twice as much in each next one, up to
    /// `table_file_bytes_max`: a node that is killed every second gets on all the same.
    std::uint64_t first_round_bytes = 4 << 20;
    std::uint64_t compact_bytes = 64 << 20;       // payload that makes a compacted object
    std::uint64_t compact_bytes_max = 256 << 20;  // most payload in one
    Duration compact_age = 3min;                  // or so long after its first entry
    /// Small objects beside each other that are merged into one; 0: never.
    std::uint64_t merge_objects = 8;
    std::uint64_t spill_bytes_max = std::uint64_t{2} << 30;
    std::uint64_t spill_segment_bytes = 64 << 20;
    std::int32_t zstd_level = 1;
    bool tables_default = false;  // `lakestream.table` of streams that do not say
    std::string ns = "default";   // the namespace that is compacted
};

struct CompactorMetrics {
    metrics::Counter wal_fetches;  // WAL objects fetched
    metrics::Counter wal_bytes;
    metrics::Counter compacted;        // objects written
    metrics::Counter compacted_bytes;  // payload in them
    metrics::Counter merges;           // objects made of smaller ones
    metrics::Counter merged_bytes;     // payload in them
    metrics::Counter table_commits;
    metrics::Counter table_rows;
    metrics::Counter table_unreadable;  // records in batches that do not decode
    metrics::Counter failures;
    metrics::Gauge spill_bytes;
    metrics::Histogram table_commit{metrics::latency_bounds};  // from planning to committed
    metrics::LastSuccess round;                                // without an error
    metrics::LastSuccess compaction;                           // an object written and referred to
    metrics::LastSuccess commit;                               // of any table
};

enum class TableState : std::uint8_t {
    opening,    // not opened yet, or to be opened again
    open,       // takes rows
    suspended,  // cannot go on: `reason` says why and what to do
};

inline constexpr std::pair<TableState, std::string_view> table_state_names[] = {
    {TableState::opening, "opening"},
    {TableState::open, "open"},
    {TableState::suspended, "suspended"},
};

/// How far a table is behind its stream.
struct TableStatus {
    catalog::StreamName stream;
    TableState state = TableState::opening;
    std::string reason;
    std::int64_t lag_records = 0;
    std::optional<MonoTime> behind_since;  // age of the oldest record that is not in it
    std::optional<MonoTime> last_commit;   // by this node
};

/// What is left to do, as of the end of a round at most a second ago.
struct CompactorStatus {
    std::int64_t backlog_records = 0;
    /// Payload of these: counted where it is brought in, for the rest estimated by the average.
    std::uint64_t backlog_bytes = 0;
    std::optional<MonoTime> backlog_since;  // age of the oldest record that is not compacted
    std::vector<TableStatus> tables;        // by name
};

/// Runs on one executor; heavy work goes to the offloader. Anything it holds can be lost: after a
/// crash it starts from the cursors and positions that are stored. An idle one does nothing but
/// look.
class Compactor {
  public:
    struct Seams {
        rt::Executor& executor;
        rt::Offloader& offloader;
        log::Engine& engine;
        log::CompactionView& view;
        catalog::Catalog& catalog;
        meta::MetadataStore& metadata;
        objstore::ObjectStore& wal;
        objstore::ObjectStore& compacted;
        TableSink& tables;
        TableFilesLoader& loader;
        SpillFiles& spill;
        std::string scratch_folder;  // for files before they are stored; exists
        metrics::Registry& metrics;
    };

    Compactor(CompactorSettings settings, Seams seams);
    Compactor(const Compactor&) = delete;
    Compactor& operator=(const Compactor&) = delete;
    ~Compactor();

    void start();
    rt::Task<void> close();
    void abandon() { scope_.abandon(); }
    const CompactorMetrics& metrics() const noexcept { return metrics_; }
    /// On its executor.
    const CompactorStatus& status() const noexcept { return status_; }

    /// Everything that is due now; `flush` takes what is not due as well.
    enum class Cut : bool { due, flush };
    rt::Task<Status> round(Cut cut);

  private:
    struct LogWork {
        catalog::StreamPtr stream;
        std::int32_t partition = 0;
        StoredState state;
        Offset spilled;                         // next offset to bring in
        Offset known_end;                       // of the log, as last heard
        MonoTime known_since{};                 // when that rose above what is brought in
        std::optional<MonoTime> waiting_since;  // first entry behind the cursor
        MonoTime resting_until{};               // after damage
        std::size_t pieces_added = 0;           // since it was looked at for merging
    };

    struct TableWork {
        catalog::StreamPtr stream;
        TablePositions positions;
        /// Where it goes on in a log.
        Offset position(LogId log) const;
        bool open = false;
        bool aside = false;   // it cannot go on: its logs are compacted without it
        bool behind = false;  // the last file was full: the next does not wait for its time
        MonoTime next_commit{};
        std::optional<MonoTime> last_commit;
        std::string reason;  // of the last failure; empty after a success
    };

    /// What one data file takes of one log.
    struct TableCut {
        LogId log;
        std::int32_t partition = 0;
        std::vector<Chunk> chunks;
    };

    rt::Task<void> run();
    rt::Task<void> discover();
    /// False when some of it has to be tried again.
    rt::Task<bool> adopt(catalog::StreamPtr stream);
    rt::Task<Status> adopt_log(catalog::StreamPtr stream, std::int32_t partition);
    /// Drop what is known of a log.
    void forget(LogId log);
    void forget_deleted(LogId log);
    /// Adopt the log again: what is in the spill does not join what is stored.
    void rejoin(LogId log);
    rt::Task<Status> open_table(TableWork& table);
    void rejoin_behind(const TableWork& table);
    /// The table that the log waits for, open or not; null when there is none.
    const TableWork* table_of(const LogWork& work) const;
    bool has_table(const catalog::StreamInfo& stream) const;
    rt::Task<std::vector<IngestLog>> take_pending();
    rt::Task<Status> bring_in();
    void note_growth(LogId log, LogWork& work);
    void note_end(LogWork& work, Offset end);
    /// What is in a chunk, as it was sealed; else its log is brought in again. On the offloader.
    Result<std::vector<SpilledEntry>> load_chunk(LogId log, const Chunk& chunk);
    bool spill_full() const { return spill_.bytes() > settings_.spill_bytes_max; }
    /// Go on from where another compactor has come to.
    rt::Task<Status> resync(LogId log);
    /// Cleaning writes the state again as it is: what is stored next expects the version of now.
    /// Errors: `conflict` (another compactor was here, or an intent stands).
    rt::Task<Status> renew_state(LogId log, LogWork& work);
    /// The table is behind what is compacted already: that is read as any consumer does, one data
    /// file's bytes at a time.
    rt::Task<Status> backfill(LogId log, LogWork& work, Offset from);
    /// Offsets that were trimmed before the table had them: it passes them without rows. Returns
    /// where its rows go on.
    rt::Task<Result<Offset>> pass_trimmed(LogId log, Offset from, Offset cursor);
    rt::Task<Status> commit_tables(Cut cut);
    rt::Task<Status> commit_table(TableWork& table);
    std::vector<TableCut> plan_table(const TableWork& table) const;
    Result<table::DataFile> write_table_file(const std::vector<TableCut>& cuts, std::string path);
    /// The spill is everybody's: what waits for a table that cannot go on leaves it, and its logs
    /// go on without it. Once it can, it is brought in again, from compacted objects if need be.
    void set_aside(TableWork& table);
    void note_unreadable(const TableCut& cut, OffsetRange range, const Error& error);
    rt::Task<Status> compact_logs(Cut cut);
    rt::Task<Status> compact_log(LogId log, LogWork& work);
    /// Store both files and replace the range by them; they leave the local disk either way.
    rt::Task<Status> put_in_place(
        LogId log, LogWork& work, const table::CompactedPair& files, Intent intent
    );
    void note_piece(LogId log, LogWork& work);
    /// One merge, of one log, if there is something to merge. False: there is not, for now.
    rt::Task<bool> merge_some();
    /// False when there was nothing to merge. Errors: `conflict` (load the state again), `corrupt`.
    rt::Task<Result<bool>> merge_log(LogId log, LogWork& work);
    rt::Task<Result<std::vector<CompactedPiece>>> load_pieces(LogId log, Offset end);
    rt::Task<Result<NewPair>> merge_pairs(
        LogId log, const LogWork& work, std::span<const CompactedPiece> pieces, std::string uuid
    );
    std::vector<Chunk> plan_compact(LogId log, const LogWork& work) const;
    Result<NewPair> write_pair(
        LogId log, OffsetRange range, const std::vector<Chunk>& chunks, std::string uuid
    );
    Offset limit_of(LogId log, const LogWork& work) const;
    void release(LogId log, const LogWork& work);
    std::string new_uuid();
    void note(std::string_view what, const Status& status);
    void register_metrics();
    void register_table_metrics();
    void update_status();
    /// When the record at `from` was written, as far as that is known.
    MonoTime since(LogId log, const LogWork& work, Offset from) const;
    TableStatus status_of(const TableWork& table) const;

    const CompactorSettings settings_;
    Seams seams_;
    Spill spill_;
    std::map<LogId, LogWork> logs_;
    std::set<LogId> pending_;    // may have more than is in the spill
    std::set<LogId> spoiled_;    // their chunks on disk are not what was written
    std::set<LogId> mergeable_;  // may have small objects beside each other
    LogId last_merged_;
    MonoTime merge_resting_until_{};        // after a failure
    MonoTime merge_next_{};                 // even when there is other work
    std::set<catalog::StreamName> wanted_;  // to be adopted
    std::map<catalog::StreamName, catalog::StreamPtr> adopted_;
    catalog::StreamName last_wanted_;  // where the last round of adoptions ended
    std::map<catalog::StreamName, TableWork> tables_;
    bool discovered_ = false;
    std::uint64_t round_bytes_ = 0;  // WAL bytes of the next round; 0: none was yet
    bool more_ = false;              // a limit was met: look again at once
    CompactorMetrics metrics_;
    CompactorStatus status_;
    MonoTime next_status_{};
    double record_bytes_ = 0;  // on average, as last seen in the spill
    metrics::Registrations registrations_;
    rt::TaskScope scope_;
};

}  // namespace lakestream::compact
