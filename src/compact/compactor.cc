// SPDX-License-Identifier: Apache-2.0
// Rounds: look at what has grown, bring it in, commit tables, compact.
#include "compact/compactor.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "base/uuid.h"
#include "catalog/log_owner.h"
#include "index/key.h"
#include "log/start.h"

namespace lakestream::compact {

namespace {

constexpr std::string_view table_property = "lakestream.table";
constexpr std::uint32_t backfill_read_bytes = 8 << 20;
constexpr Duration damage_rest = 10s;
constexpr Duration aside_rest = 5min;  // of a table that opens, but takes nothing
constexpr Duration store_rest = 15s;   // of one whose store is full or read-only for a while
constexpr std::size_t adoptions_per_round = 100;

/// Failures that may be over soon: what was brought in is kept for the next attempt.
bool passes(const Error& error) {
    switch (error.code) {
        case ErrorCode::unavailable:
        case ErrorCode::throttled:
        case ErrorCode::deadline_exceeded:
        case ErrorCode::outcome_unknown:
        case ErrorCode::conflict:
        case ErrorCode::cancelled: return true;
        default: return false;
    }
}

}  // namespace

Compactor::Compactor(CompactorSettings settings, Seams seams)
    : settings_(std::move(settings)),
      seams_(std::move(seams)),
      spill_(seams_.spill, settings_.spill_segment_bytes),
      registrations_(seams_.metrics),
      scope_(seams_.executor) {
    register_metrics();
}

Compactor::~Compactor() = default;

void Compactor::start() {
    scope_.spawn(run());
}

rt::Task<void> Compactor::close() {
    co_await scope_.close();
}

rt::Task<void> Compactor::run() {
    while (true) {
        const Duration pause = more_ ? 10ms : settings_.tick;
        if (co_await scope_.stop().sleep_until(seams_.executor.now() + pause)) {
            co_return;
        }
        const Status done = co_await round(Cut::due);
        note("round", done);
        update_status();
        if (done.ok()) {
            metrics_.round.note(seams_.executor.now());
        }
    }
}

void Compactor::note(std::string_view what, const Status& status) {
    if (!status.ok() && !status.is(ErrorCode::cancelled)) {
        metrics_.failures.add();
        log::warn("compact", "part_failed part={} error={}", what, status.error());
    }
}

rt::Task<Status> Compactor::round(Cut cut) {
    more_ = false;
    for (const LogId log : std::exchange(spoiled_, {})) {
        if (logs_.contains(log)) {
            rejoin(log);
        }
    }
    co_await discover();
    // What is in the spill already goes on, whatever keeps more from coming.
    const Status brought = co_await bring_in();
    const bool full = spill_full();
    cut = full ? Cut::flush : cut;
    LKS_CO_TRY(co_await commit_tables(cut));
    LKS_CO_TRY(co_await compact_logs(cut));
    more_ = more_ || (full && !spill_full());
    // Beside other work one merge a tick, else one after the other.
    if (!more_ || seams_.executor.now() >= merge_next_) {
        more_ = co_await merge_some() || more_;
    }
    metrics_.spill_bytes.set(static_cast<std::int64_t>(spill_.bytes()));
    co_return brought;
}

bool Compactor::has_table(const catalog::StreamInfo& stream) const {
    const auto said = stream.properties.find(std::string(table_property));
    return said == stream.properties.end() ? settings_.tables_default : said->second == "true";
}

rt::Task<void> Compactor::discover() {
    for (const LogId log : co_await seams_.view.take_grown()) {
        pending_.insert(log);
    }
    // Also those whose owner could not be found out before.
    for (const LogId log : std::set(pending_)) {
        if (!logs_.contains(log)) {
            const auto owner = co_await catalog::find_log_owner(seams_.metadata, log);
            if (owner.ok() && owner->stream.ns == settings_.ns) {
                wanted_.insert(owner->stream);
            } else if (owner.ok() || owner.is(ErrorCode::not_found)) {
                pending_.erase(log);
            }
        }
    }
    if (!discovered_) {
        // After a start: what was not finished before the last stop or crash.
        const auto streams = co_await seams_.catalog.list(settings_.ns);
        if (streams.ok()) {
            discovered_ = true;
            for (const catalog::StreamPtr& stream : *streams) {
                wanted_.insert(stream->name);
            }
        }
    }
    // Thousands of new streams do not keep the tables of others waiting, nor a few that fail the
    // rest of them.
    const std::set<catalog::StreamName> wanted(wanted_);
    more_ = wanted.size() > adoptions_per_round;
    auto next = wanted.upper_bound(last_wanted_);
    for (std::size_t i = 0; i < std::min(wanted.size(), adoptions_per_round); ++i) {
        const catalog::StreamName& name = next == wanted.end() ? *(next = wanted.begin()) : *next;
        ++next;
        last_wanted_ = name;
        const auto stream = co_await seams_.catalog.load(name);
        const bool done = stream.ok() ? co_await adopt(*stream) : stream.is(ErrorCode::not_found);
        if (done) {
            wanted_.erase(name);
        }
    }
}

rt::Task<bool> Compactor::adopt(catalog::StreamPtr stream) {
    catalog::StreamPtr& known = adopted_[stream->name];
    if (known != nullptr && known->incarnation != stream->incarnation) {
        for (const LogId log : known->logs) {
            forget(log);  // of a deleted stream of this name
        }
    }
    known = stream;
    if (has_table(*stream)) {
        TableWork& table = tables_[stream->name];
        if (table.stream == nullptr || table.stream->incarnation != stream->incarnation) {
            table = TableWork{.stream = stream};
        }
        table.stream = stream;
        const Status opened = co_await open_table(table);
        if (!opened.ok() && !passes(opened.error())) {
            set_aside(table);
        }
        note("table_open", opened);
    }
    bool whole = true;
    for (std::size_t i = 0; i < stream->logs.size(); ++i) {
        if (!logs_.contains(stream->logs[i])) {
            const Status adopted = co_await adopt_log(stream, static_cast<std::int32_t>(i));
            note("adopt", adopted);
            whole = whole && adopted.ok();
        }
    }
    co_return whole;
}

void Compactor::forget(LogId log) {
    spill_.drop_from(log, Offset(0));
    mergeable_.erase(log);
    logs_.erase(log);
}

void Compactor::forget_deleted(LogId log) {
    const catalog::StreamName name = logs_.at(log).stream->name;
    forget(log);
    const auto known = adopted_.find(name);
    if (known != adopted_.end() && std::ranges::none_of(known->second->logs, [&](LogId each) {
            return logs_.contains(each);
        })) {
        adopted_.erase(known);
        tables_.erase(name);
    }
}

void Compactor::rejoin(LogId log) {
    wanted_.insert(logs_.at(log).stream->name);
    forget(log);
}

Offset Compactor::TableWork::position(LogId log) const {
    const auto found = positions.find(log);
    return found == positions.end() ? Offset(0) : found->second;
}

rt::Task<Status> Compactor::open_table(TableWork& table) {
    if (!table.open) {
        auto opened = co_await seams_.tables.open(table.stream);
        table.reason = opened.ok() ? "" : opened.error().to_string();
        table.positions = LKS_CO_TRY(std::move(opened));
        table.open = true;
        table.aside = false;
    }
    co_return Status();
}

rt::Task<Status> Compactor::adopt_log(catalog::StreamPtr stream, std::int32_t partition) {
    const LogId log = stream->logs[static_cast<std::size_t>(partition)];
    spill_.drop_from(log, Offset(0));  // of an attempt that failed
    const StoredState state = LKS_CO_TRY(co_await load_finished(seams_.metadata, log));
    LogWork work{
        .stream = stream, .partition = partition, .state = state, .spilled = state.state.cursor
    };
    if (const auto table = tables_.find(stream->name);
        table != tables_.end() && table->second.open) {
        LKS_CO_TRY(co_await backfill(log, work, table->second.position(log)));
    }
    // A look at the index says whether the log has to be loaded at all.
    const auto last = co_await seams_.metadata.get({
        .key = index::bound_last(log),
        .comparison = meta::Comparison::floor,
        .partition_key = index::partition_key(log),
    });
    if (!last.ok() && !last.is(ErrorCode::not_found)) {
        co_return last.error();
    }
    const auto key =
        last.ok() ? index::parse_key(log, last->key) : Result<index::IndexKey>(last.error());
    if (key.ok() && key->end > work.spilled) {
        pending_.insert(log);
    }
    if (key.ok()) {
        note_end(work, key->end);
    }
    if (state.state.cursor > Offset(0)) {
        mergeable_.insert(log);
    }
    logs_.emplace(log, std::move(work));
    co_return Status();
}

rt::Task<Status> Compactor::resync(LogId log) {
    const auto finished = co_await load_finished(seams_.metadata, log);
    if (finished.is(ErrorCode::fenced)) {
        forget_deleted(log);
        co_return Status();
    }
    const StoredState state = LKS_CO_TRY(finished);
    LogWork& work = logs_.at(log);
    work.state = state;
    if (state.state.cursor > work.spilled) {
        rejoin(log);
    } else {
        release(log, work);
    }
    co_return Status();
}

rt::Task<Status> Compactor::renew_state(LogId log, LogWork& work) {
    StoredState now = LKS_CO_TRY(co_await load_state(seams_.metadata, log));
    if (now.state != work.state.state || now.state.intent.has_value()) {
        co_return conflict("log {}: another compactor goes on", log);
    }
    work.state = std::move(now);
    co_return Status();
}

rt::Task<Result<Offset>> Compactor::pass_trimmed(LogId log, Offset from, Offset cursor) {
    const Offset start = LKS_CO_TRY(co_await log::load_start(seams_.metadata, log));
    if (start <= from || from >= cursor) {
        co_return from;
    }
    Offset to = cursor;
    if (start < cursor) {  // whole entries: the one that holds the start goes in
        std::vector<log::ReadRequest> requests{{.log = log, .from = start, .bytes_max = 1}};
        auto results = co_await seams_.engine.read(std::move(requests));
        const log::ReadBatch batch = LKS_CO_TRY(std::move(results.front()));
        if (batch.entries.empty()) {
            co_return unavailable("log {}: {} cannot be read yet", log, start);
        }
        to = std::clamp(batch.entries.front().range.begin, from, cursor);
    }
    if (to > from) {
        log::info("compact", "table_passes_trimmed log={} begin={} end={}", log, from, to);
        LKS_CO_TRY(spill_.add(log, {from, to}, {}));
    }
    co_return to;
}

rt::Task<Status> Compactor::backfill(LogId log, LogWork& work, Offset from) {
    const Offset cursor = work.state.state.cursor;
    from = LKS_CO_TRY(co_await pass_trimmed(log, from, cursor));
    std::uint64_t bytes = 0;
    while (from < cursor && bytes < settings_.table_file_bytes_max && !spill_full()) {
        std::vector<log::ReadRequest> requests{
            {.log = log, .from = from, .bytes_max = backfill_read_bytes}
        };
        auto results = co_await seams_.engine.read(std::move(requests));
        const log::ReadBatch batch = LKS_CO_TRY(std::move(results.front()));
        std::vector<SpilledEntry> entries;
        const Offset begin = from;
        for (const log::ReadEntry& entry : batch.entries) {
            if (entry.range.begin >= cursor) {
                break;
            }
            from = entry.range.end;
            bytes += entry.payload.size();
            if (!entry.is_void) {
                entries.push_back({entry.range, 0, entry.created, entry.payload});
            }
        }
        if (from == begin) {
            // This node has not folded what another has compacted.
            co_return unavailable("log {}: {} cannot be read yet", log, begin);
        }
        LKS_CO_TRY(co_await rt::offload(seams_.offloader, [&]() -> Status {
            LKS_TRY(check_batches(entries));
            return spill_.add(log, {begin, from}, entries);
        }));
    }
    work.spilled = std::min(from, cursor);
    co_return Status();
}

const Compactor::TableWork* Compactor::table_of(const LogWork& work) const {
    const auto table = tables_.find(work.stream->name);
    return table == tables_.end() || table->second.aside ? nullptr : &table->second;
}

rt::Task<std::vector<IngestLog>> Compactor::take_pending() {
    std::vector<LogId> asked;
    for (const LogId log : pending_) {
        const auto work = logs_.find(log);
        if (work != logs_.end() && work->second.resting_until <= seams_.executor.now()) {
            asked.push_back(log);
        }
    }
    for (const LogId log : asked) {
        pending_.erase(log);
    }
    std::vector<IngestLog> grown;
    const auto bounds = co_await seams_.engine.bounds(asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const LogId log = asked[i];
        const LogWork& work = logs_.at(log);
        const TableWork* const table = table_of(work);
        const bool backfills = work.spilled < work.state.state.cursor;
        if (bounds[i].is(ErrorCode::not_found)) {
            forget_deleted(log);
        } else if (!bounds[i].ok() || (table != nullptr && !table->open)) {
            pending_.insert(log);  // the spill is for what can leave it
        } else if (backfills && table != nullptr && table->position(log) < work.spilled) {
            pending_.insert(log);  // its next portion follows when this one is in the table
        } else if (backfills) {
            rejoin(log);
        } else if (bounds[i]->high_watermark > work.spilled) {
            grown.push_back({log, work.spilled});
        }
        if (bounds[i].ok() && logs_.contains(log)) {
            note_end(logs_.at(log), bounds[i]->high_watermark);
        }
    }
    co_return grown;
}

void Compactor::note_end(LogWork& work, Offset end) {
    if (work.known_end <= work.spilled && end > work.spilled) {
        work.known_since = seams_.executor.now();
    }
    work.known_end = std::max(work.known_end, end);
}

void Compactor::note_growth(LogId log, LogWork& work) {
    const Offset end = spill_.end_of(log, work.spilled);
    if (end > work.spilled && !work.waiting_since.has_value()) {
        work.waiting_since = seams_.executor.now();
    }
    work.spilled = end;
    if (spill_full()) {
        spill_.drop_from(log, end);  // room for what is missing before it
    }
}

rt::Task<Status> Compactor::bring_in() {
    if (spill_full()) {
        co_return Status();
    }
    const std::vector<IngestLog> grown = co_await take_pending();
    if (grown.empty()) {
        co_return Status();
    }
    for (const IngestLog& log : grown) {
        pending_.insert(log.log);  // until it is known to be all in
    }
    round_bytes_ = round_bytes_ == 0 ? settings_.first_round_bytes
                                     : std::min(2 * round_bytes_, settings_.table_file_bytes_max);
    Result<IngestDone> ingested = co_await ingest(
        seams_.view,
        seams_.wal,
        seams_.offloader,
        spill_,
        grown,
        {.bytes_max = round_bytes_, .spill_bytes_max = settings_.spill_bytes_max}
    );
    for (const IngestLog& log : grown) {
        note_growth(log.log, logs_.at(log.log));
    }
    const IngestDone done = LKS_CO_TRY(std::move(ingested));
    metrics_.wal_fetches.add(done.objects);
    metrics_.wal_bytes.add(done.bytes);
    more_ = more_ || (done.more && done.objects > 0);
    for (const auto& [log, error] : done.damaged) {
        note("ingest", error);
        logs_.at(log).resting_until = seams_.executor.now() + damage_rest;
    }
    for (const LogId log : done.passed) {
        note("resync", co_await resync(log));
    }
    co_return Status();
}

rt::Task<Status> Compactor::commit_tables(Cut cut) {
    for (auto& [name, table] : tables_) {
        const MonoTime now = seams_.executor.now();
        if (cut == Cut::due && now < table.next_commit && !table.behind) {
            continue;
        }
        table.next_commit = now + settings_.table_interval;
        const Status committed = co_await commit_table(table);
        if (!committed.ok()) {
            table.reason = committed.error().to_string();
            if (!passes(committed.error()) && table.open) {
                // What it took to find out is not done again at once, and its logs get compacted.
                const bool store =
                    committed.is(ErrorCode::exhausted) || committed.is(ErrorCode::unsupported);
                table.next_commit =
                    now + std::max(settings_.table_interval, store ? store_rest : aside_rest);
            }
            table.open = false;
            table.behind = false;
            // They wait for it, and it may be gone with them.
            pending_.insert(table.stream->logs.begin(), table.stream->logs.end());
            if (!passes(committed.error())) {
                set_aside(table);
            }
            note(fmt::format("table_commit({}/{})", name.ns, name.name), committed);
        }
    }
    co_return Status();
}

std::vector<Compactor::TableCut> Compactor::plan_table(const TableWork& table) const {
    std::vector<TableCut> cuts;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < table.stream->logs.size(); ++i) {
        const LogId log = table.stream->logs[i];
        TableCut cut{.log = log, .partition = static_cast<std::int32_t>(i), .chunks = {}};
        for (Chunk& chunk : spill_.chunks(log, table.position(log))) {
            if (bytes >= settings_.table_file_bytes_max) {
                break;
            }
            bytes += static_cast<std::uint64_t>(chunk.payload_bytes);
            cut.chunks.push_back(chunk);
        }
        if (!cut.chunks.empty()) {
            cuts.push_back(std::move(cut));
        }
    }
    return cuts;
}

Result<std::vector<SpilledEntry>> Compactor::load_chunk(LogId log, const Chunk& chunk) {
    auto entries = spill_.load(chunk);
    const Status sealed = entries.ok() ? check_batches(*entries) : Status(entries.error());
    if (!sealed.ok()) {
        spoiled_.insert(log);
        return unavailable("log {} is brought in again: {}", log, sealed.error().message);
    }
    return entries;
}

Result<table::DataFile> Compactor::write_table_file(
    const std::vector<TableCut>& cuts, std::string path
) {
    table::TableFiles* files = LKS_TRY(seams_.loader.get());
    const auto writer = LKS_TRY(files->write_data_file(std::move(path), settings_.zstd_level));
    for (const TableCut& cut : cuts) {
        for (const Chunk& chunk : cut.chunks) {
            for (const SpilledEntry& entry : LKS_TRY(load_chunk(cut.log, chunk))) {
                LKS_TRY(decode_rows(
                    cut.partition,
                    entry,
                    [&](const table::Row& row) { return writer->add(row); },
                    [&](OffsetRange range, const Error& error) {
                        note_unreadable(cut, range, error);
                    }
                ));
            }
        }
    }
    return writer->finish();
}

void Compactor::rejoin_behind(const TableWork& table) {
    for (const LogId log : table.stream->logs) {
        const auto work = logs_.find(log);
        const Offset from = table.position(log);
        if (work != logs_.end() && from < work->second.spilled &&
            spill_.end_of(log, from) == from) {
            log::info("compact", "rejoins log={} position={}", log, from);
            rejoin(log);
        }
    }
}

void Compactor::set_aside(TableWork& table) {
    if (std::exchange(table.aside, true)) {
        return;
    }
    for (const LogId log : table.stream->logs) {
        const auto work = logs_.find(log);
        if (work != logs_.end()) {
            spill_.drop_from(log, Offset(0));
            work->second.spilled = work->second.state.state.cursor;
        }
    }
}

void Compactor::note_unreadable(const TableCut& cut, OffsetRange range, const Error& error) {
    metrics_.table_unreadable.add(static_cast<std::uint64_t>(range.count()));
    log::warn(
        "compact",
        "batch_unreadable log={} partition={} begin={} end={} error={}",
        cut.log,
        cut.partition,
        range.begin,
        range.end,
        error
    );
}

rt::Task<Status> Compactor::commit_table(TableWork& table) {
    const MonoTime begin = seams_.executor.now();
    LKS_CO_TRY(co_await open_table(table));
    // Another committer, or a hand, has put the position where no chunk of ours begins.
    rejoin_behind(table);
    const std::vector<TableCut> cuts = plan_table(table);
    std::int64_t entries = 0;
    std::uint64_t bytes = 0;
    std::map<LogId, OffsetRange> ranges;
    for (const TableCut& cut : cuts) {
        ranges[cut.log] = {cut.chunks.front().range.begin, cut.chunks.back().range.end};
        for (const Chunk& chunk : cut.chunks) {
            entries += chunk.entries;
            bytes += static_cast<std::uint64_t>(chunk.payload_bytes);
        }
    }
    table.behind = bytes >= settings_.table_file_bytes_max;
    more_ = more_ || table.behind;
    if (entries == 0) {
        co_return Status();
    }
    std::string path = fmt::format("{}/{}.parquet", seams_.scratch_folder, new_uuid());
    using File = Result<table::DataFile>;
    File file = co_await rt::offload(seams_.offloader, [&]() -> File {
        return write_table_file(cuts, std::move(path));
    });
    const table::DataFile written = LKS_CO_TRY(std::move(file));
    table.positions = LKS_CO_TRY(co_await seams_.tables.append(table.stream, written, ranges));
    const MonoTime now = seams_.executor.now();
    table.last_commit = now;
    table.reason.clear();
    metrics_.commit.note(now);
    metrics_.table_commit.observe(std::chrono::duration<double>(now - begin).count());
    metrics_.table_commits.add();
    metrics_.table_rows.add(static_cast<std::uint64_t>(written.rows));
    for (const auto& [log, range] : ranges) {
        if (const auto work = logs_.find(log); work != logs_.end()) {
            release(log, work->second);
        }
    }
    co_return Status();
}

std::string Compactor::new_uuid() {
    return uuid_text(make_uuid(seams_.executor.rng().bytes16()));
}

void Compactor::release(LogId log, const LogWork& work) {
    spill_.drop_before(log, std::min(work.state.state.cursor, limit_of(log, work)));
}

}  // namespace lakestream::compact
