// SPDX-License-Identifier: Apache-2.0
// Compactor: one decode, two cuts: table files at the commit interval, compacted objects at their
// size or age.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "catalog/catalog.h"
#include "compact/compacted_objects.h"
#include "compact/decode_rows.h"
#include "compact/ingest.h"
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
    metrics::Counter table_commits;
    metrics::Counter table_rows;
    metrics::Counter table_unreadable;  // records in batches that do not decode
    metrics::Counter failures;
    metrics::Gauge spill_bytes;
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

    /// Everything that is due now; `flush` takes what is not due as well.
    enum class Cut : bool { due, flush };
    rt::Task<Status> round(Cut cut);

  private:
    struct LogWork {
        catalog::StreamPtr stream;
        std::int32_t partition = 0;
        StoredState state;
        Offset spilled;                         // next offset to bring in
        std::optional<MonoTime> waiting_since;  // first entry behind the cursor
        MonoTime resting_until{};               // after damage
    };

    struct TableWork {
        catalog::StreamPtr stream;
        TablePositions positions;
        /// Where it goes on in a log.
        Offset position(LogId log) const;
        bool open = false;
        bool behind = false;  // the last file was full: the next does not wait for its time
        MonoTime next_commit{};
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
    bool waits_for_table(const LogWork& work) const;
    bool has_table(const catalog::StreamInfo& stream) const;
    rt::Task<std::vector<IngestLog>> take_pending();
    rt::Task<Status> bring_in();
    void note_growth(LogId log, LogWork& work);
    bool spill_full() const { return spill_.bytes() > settings_.spill_bytes_max; }
    rt::Task<Result<StoredState>> load_finished(LogId log);
    /// Go on from where another compactor has come to.
    rt::Task<Status> resync(LogId log);
    rt::Task<Status> backfill(LogId log, LogWork& work, Offset end);
    rt::Task<Status> commit_tables(Cut cut);
    rt::Task<Status> commit_table(TableWork& table);
    std::vector<TableCut> plan_table(const TableWork& table) const;
    Result<table::DataFile> write_table_file(const std::vector<TableCut>& cuts, std::string path);
    /// The spill is everybody's: what waits for a table that cannot go on leaves it.
    void give_back(const TableWork& table);
    void note_unreadable(const TableCut& cut, OffsetRange range, const Error& error);
    rt::Task<Status> compact_logs(Cut cut);
    rt::Task<Status> compact_log(LogId log, LogWork& work);
    std::vector<Chunk> plan_compact(LogId log, const LogWork& work) const;
    Result<table::CompactedPair> write_pair(
        LogId log, const std::vector<Chunk>& chunks, std::string uuid
    );
    rt::Task<Status> store_file(std::string path, std::string name);
    Offset limit_of(LogId log, const LogWork& work) const;
    void release(LogId log, const LogWork& work);
    std::string new_uuid();
    void note(std::string_view what, const Status& status);

    const CompactorSettings settings_;
    Seams seams_;
    Spill spill_;
    std::map<LogId, LogWork> logs_;
    std::set<LogId> pending_;               // may have more than is in the spill
    std::set<catalog::StreamName> wanted_;  // to be adopted
    std::map<catalog::StreamName, catalog::StreamPtr> adopted_;
    catalog::StreamName last_wanted_;  // where the last round of adoptions ended
    std::map<catalog::StreamName, TableWork> tables_;
    bool discovered_ = false;
    std::uint64_t round_bytes_ = 0;  // WAL bytes of the next round; 0: none was yet
    bool more_ = false;              // a limit was met: look again at once
    CompactorMetrics metrics_;
    rt::TaskScope scope_;
};

}  // namespace lakestream::compact
