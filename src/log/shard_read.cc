// SPDX-License-Identifier: Apache-2.0
// Loading, scanning and reading on a log's home shard (docs/protocols/append.md).
#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "index/key.h"
#include "log/index_scan.h"
#include "log/index_value.h"
#include "log/shard.h"
#include "log/start.h"

namespace lakestream::log {

rt::Task<Status> Shard::ensure_loaded(Log& log) {
    const auto turn = co_await log.folding.acquire(1);
    if (log.state == LoadState::loaded) {
        co_return Status();
    }
    if (log.fenced) {
        co_return not_found("log {} is deleted", log.id);
    }
    const Status loaded = co_await load(log);
    log.state = loaded.ok() ? LoadState::loaded : LoadState::absent;
    co_return loaded;
}

rt::Task<Status> Shard::load(Log& log) {
    const std::string key = index::partition_key(log.id);
    const auto fence =
        LKS_CO_TRY(co_await find_record(seams_.metadata, index::fence_key(log.id), key));
    log.fenced = log.fenced || fence.has_value();
    if (log.fenced) {
        co_return not_found("log {} is deleted", log.id);
    }
    LKS_CO_TRY(co_await refresh_start(log));
    // Snapshot first, then the scan: no index record beyond the snapshot's end is ever removed.
    const auto snapshot = LKS_CO_TRY(co_await find_record(seams_.metadata, fold_key(log.id), key));
    if (snapshot.has_value()) {
        log.fold = LKS_CO_TRY(decode_fold(snapshot->value));
        log.saved = log.fold.end;
    }
    co_return co_await scan_to(log, std::nullopt);
}

rt::Task<Status> Shard::scan_to(Log& log, std::optional<Offset> end) {
    const Offset begin = log.fold.end;
    while (true) {
        const Status scanned = co_await scan_joined(log, end);
        if (scanned.is(ErrorCode::conflict) && LKS_CO_TRY(co_await rejoin(log))) {
            continue;
        }
        LKS_CO_TRY(scanned);
        break;
    }
    if (end.has_value() && log.fold.end < *end) {
        // A stale leader's shorter answer is "try again", never "absent".
        co_return unavailable("log {}: the index ends at {} before {}", log.id, log.fold.end, *end);
    }
    if (log.fold.end > begin) {
        grew(log);
    }
    co_return Status();
}

rt::Task<Status> Shard::scan_joined(Log& log, std::optional<Offset> end) {
    IndexScan scan(seams_.metadata, log.id, log.fold.end, end);
    while (true) {
        const auto records = LKS_CO_TRY(co_await scan.next());
        if (records.empty()) {
            co_return Status();
        }
        for (const meta::Record& record : records) {
            LKS_CO_TRY(fold_scanned(log, record));
        }
    }
}

rt::Task<Result<bool>> Shard::rejoin(Log& log) {
    // What does not join was compacted by another node: only up to the snapshot it had stored.
    const auto stored = LKS_CO_TRY(
        co_await find_record(seams_.metadata, fold_key(log.id), index::partition_key(log.id))
    );
    FoldState theirs = stored.has_value() ? LKS_CO_TRY(decode_fold(stored->value)) : FoldState();
    if (theirs.end <= log.fold.end) {
        co_return corrupt(
            "log {}: the index does not go on at offset {} and no fold snapshot reaches further; "
            "run "
            "`lakestream check`",
            log.id,
            log.fold.end
        );
    }
    log.fold = std::move(theirs);
    log.saved = log.fold.end;
    drop_tail(log);
    co_return true;
}

Status Shard::fold_scanned(Log& log, const meta::Record& record) {
    auto decoded = index::IndexRecord::decode(record.value);
    auto joined = decoded.ok() ? to_fold_record(log.id, record, *decoded)
                               : Result<FoldRecord>(decoded.error());
    if (!joined.ok()) {
        return std::move(joined.error()).with_context(fmt::format("index record {}", record.key));
    }
    const index::IndexRecord& value = *decoded;
    const FoldRecord& folded = *joined;
    if (folded.range.begin != log.fold.end || value.file_type != index::FileType::raw) {
        return conflict("log {}: record {} does not join {}", log.id, record.key, log.fold.end);
    }
    auto verdicts = fold(log.fold, folded);
    ++log.folded_since_saved;
    // The payload is not at hand: memory holds what comes after.
    drop_tail(log);
    if (folded.writer.has_value() && log.is_ours(folded.writer->writer) &&
        verdicts.front().verdict != Verdict::resent) {
        log.unclaimed[{folded.writer->writer, folded.writer->number}] = std::move(verdicts);
    }
    return Status();
}

void Shard::drop_tail(Log& log) {
    if (log.tail.empty()) {
        return;
    }
    for (const TailEntry& entry : log.tail) {
        tail_bytes_ -= entry.cost();
    }
    log.tail.clear();
    std::erase(tail_order_, &log);
}

rt::Task<Status> Shard::refresh_start(Log& log) {
    log.start_changed = false;
    const auto start = co_await load_start(seams_.metadata, log.id);
    if (!start.ok()) {
        log.start_changed = true;
        co_return start.error();
    }
    log.start = std::max(log.start, *start);
    co_return Status();
}

rt::Task<Status> Shard::refresh(Log& log) {
    LKS_CO_TRY(co_await ensure_loaded(log));
    // First the start: what it lies behind is there.
    if (log.start_changed || settings_.shared_metadata) {
        LKS_CO_TRY(co_await refresh_start(log));
    }
    const auto turn = co_await log.folding.acquire(1);
    co_return co_await scan_to(log, std::nullopt);
}

/// Fold up to where a client says it has been: it may come from a node that folded further. An
/// offset that is out of range makes consumers jump, so a stale leader's answer is asked for again.
rt::Task<Status> Shard::refresh_to(Log& log, Offset from) {
    const Deadline deadline = seams_.executor.now() + settings_.damage_patience;
    Duration backoff = settings_.backoff_min;
    while (from > log.fold.end) {
        LKS_CO_TRY(co_await refresh(log));
        if (from <= log.fold.end || log.fenced || seams_.executor.now() >= deadline ||
            co_await scope_.stop().sleep_until(seams_.executor.now() + backoff)) {
            break;
        }
        backoff = std::min(backoff * 2, settings_.backoff_max);
    }
    co_return Status();
}

void Shard::changed(LogId id, Offset end) {
    const LogPtr target = log(id);
    target->announced = std::max(target->announced, end);
    if (target->state == LoadState::absent && !target->waiters.empty()) {
        grew(*target);  // whoever waits reads, and reading loads
    }
    start_catch_up(target);
}

void Shard::start_changed(LogId id) {
    if (const auto known = logs_.find(id); known != logs_.end()) {
        known->second->start_changed = true;
        start_catch_up(known->second);
    }
}

void Shard::changes_lost() {
    for (const auto& [id, log] : logs_) {  // any order: each looks for itself
        log->start_changed = true;
        log->changes_lost = true;
        if (!log->waiters.empty()) {
            start_catch_up(log);
        }
    }
}

void Shard::start_catch_up(const LogPtr& log) {
    const bool useful = log->state == LoadState::loaded && !log->fenced && behind(*log);
    if (useful && !log->catching_up && !scope_.stopping()) {
        log->catching_up = true;
        scope_.spawn(catch_up(log));
    }
}

rt::Task<void> Shard::catch_up(LogPtr kept) {
    Log& log = *kept;
    // A deleted log never gets there, so it is not tried for ever; reading tries again.
    constexpr int attempts_max = 10;
    Duration backoff = settings_.backoff_min;
    for (int i = 0; i < attempts_max && behind(log) && !log.fenced; ++i) {
        log.changes_lost = false;
        const Status done = co_await refresh(log);
        if (!done.ok()) {
            log.changes_lost = true;
            log::warn("log", "catch_up_failed log={} error={}", log.id, done.error());
        }
        if (behind(log) && co_await scope_.stop().sleep_until(seams_.executor.now() + backoff)) {
            break;
        }
        backoff = std::min(backoff * 2, settings_.backoff_max);
    }
    log.catching_up = false;
}

rt::Task<Error> Shard::find_cause(Log& log, Error error) {
    const auto fence = co_await find_record(
        seams_.metadata, index::fence_key(log.id), index::partition_key(log.id)
    );
    if (fence.ok() && fence->has_value()) {
        log.fenced = true;
        grew(log);
        co_return fenced("log {} is deleted", log.id);
    }
    const Status looked = co_await refresh_start(log);
    co_return looked.ok() ? error : looked.error();
}

rt::Task<Result<LogBounds>> Shard::bounds(LogId id) {
    const LogPtr kept = log(id);
    Log& target = *kept;
    if (settings_.shared_metadata) {
        LKS_CO_TRY(co_await refresh(target));
    } else {
        LKS_CO_TRY(co_await ensure_loaded(target));
    }
    if (target.fenced) {
        co_return not_found("log {} is deleted", id);
    }
    if (target.start > target.fold.end) {
        co_return unavailable("log {}: the index up to its start {} is not seen", id, target.start);
    }
    co_return LogBounds{target.start, target.fold.end};
}

rt::Task<Result<LogBounds>> Shard::trim(LogId id, std::optional<Offset> to) {
    const LogPtr kept = log(id);
    Log& target = *kept;
    const LogBounds now = LKS_CO_TRY(co_await bounds(id));
    const Offset start = to.value_or(now.high_watermark);
    if (start > now.high_watermark || start < Offset(0)) {
        co_return out_of_range(
            "log {}: it cannot start at {}, it ends at {}", id, start, now.high_watermark
        );
    }
    if (start > now.start) {
        const Offset stored = LKS_CO_TRY(co_await raise_start(seams_.metadata, id, start));
        target.start = std::max(target.start, stored);
    }
    co_return LogBounds{target.start, target.fold.end};
}

rt::Task<Result<ReadBatch>> Shard::read(ReadRequest request) {
    const LogPtr kept = log(request.log);
    Log& target = *kept;
    LKS_CO_TRY(co_await ensure_loaded(target));
    LKS_CO_TRY(co_await refresh_to(target, request.from));
    if (target.start_changed && !target.fenced) {
        LKS_CO_TRY(co_await refresh_start(target));
    }
    if (target.fenced) {
        co_return not_found("log {} is deleted", request.log);
    }
    const LogBounds bounds{target.start, target.fold.end};
    if (request.from < bounds.start || request.from > bounds.high_watermark) {
        co_return out_of_range(
            "log {}: offset {} is outside [{}, {}]",
            request.log,
            request.from,
            bounds.start,
            bounds.high_watermark
        );
    }
    if (request.from == bounds.high_watermark) {
        co_return ReadBatch{.entries = {}, .bounds = bounds};
    }
    if (!target.tail.empty() && target.tail.front().range.begin <= request.from) {
        co_return read_tail(target, request);
    }
    if (request.memory_only || seams_.executor.now() >= request.patience) {
        co_return ReadBatch{.entries = {}, .bounds = bounds};
    }
    co_return co_await read_index(target, request);
}

ReadBatch Shard::read_tail(const Log& log, const ReadRequest& request) {
    ReadBatch batch{.entries = {}, .bounds = {log.start, log.fold.end}};
    auto entry = std::ranges::upper_bound(log.tail, request.from, {}, [](const TailEntry& e) {
        return e.range.begin;
    });
    std::uint64_t bytes = 0;
    for (--entry; entry != log.tail.end(); ++entry) {
        if (bytes > 0 && bytes + entry->payload.size() > request.bytes_max) {
            break;
        }
        bytes += entry->payload.size();
        batch.entries.push_back({entry->range, entry->payload, entry->created, entry->is_void});
    }
    metrics_.read_tail_bytes.add(bytes);
    return batch;
}

rt::Task<std::vector<LogId>> Shard::take_grown() {
    const std::set<LogId> grown = std::exchange(grown_, {});
    co_return std::vector<LogId>(grown.begin(), grown.end());
}

rt::Task<Result<std::vector<WalkRecord>>> Shard::walk(LogId id, Offset from, std::size_t limit) {
    const LogPtr kept = log(id);
    Log& target = *kept;
    LKS_CO_TRY(co_await ensure_loaded(target));
    std::vector<WalkRecord> walked;
    IndexScan scan(seams_.metadata, id, std::max(from, target.start), target.fold.end);
    while (walked.size() < limit) {
        const auto records = LKS_CO_TRY(co_await scan.next());
        if (records.empty()) {
            break;
        }
        for (const meta::Record& record : records) {
            WalkRecord& one = walked.emplace_back(LKS_CO_TRY(to_walk_record(id, record)));
            if (one.value.file_type != index::FileType::raw) {
                continue;  // its object has none
            }
            if (one.range.begin < target.fold.voids_from) {
                co_return conflict("log {}: index record {} was compacted", id, record.key);
            }
            one.voids = target.fold.voids_in(one.range);
        }
    }
    if (walked.size() > limit) {
        walked.resize(limit);
    }
    co_return walked;
}

rt::Task<Result<Checkpoint>> Shard::checkpoint(LogId id, OffsetRange next) {
    const LogPtr kept = log(id);
    Log& target = *kept;
    LKS_CO_TRY(co_await ensure_loaded(target));
    if (target.fold.voids_from > next.begin) {
        co_return conflict("log {}: is compacted to {}", id, target.fold.voids_from);
    }
    if (target.fold.end < next.end) {
        co_return unavailable("log {}: folded to {}, not {}", id, target.fold.end, next.end);
    }
    target.fold.forget_voids(next.begin);
    std::vector<OffsetRange> voids = target.fold.voids_in(next);
    if (target.saved < target.fold.end) {
        LKS_CO_TRY(co_await save(target));
    }
    co_return Checkpoint{target.saved, std::move(voids)};
}

rt::Task<Status> Shard::visit_timestamps(Log& log, Offset from, VisitTimestamp visit) {
    const Offset end = log.fold.end;
    IndexScan scan(seams_.metadata, log.id, from, std::nullopt);
    while (true) {
        const auto records = LKS_CO_TRY(co_await scan.next());
        if (records.empty()) {
            co_return Status();
        }
        for (const meta::Record& record : records) {
            const WalkRecord one = LKS_CO_TRY(to_walk_record(log.id, record));
            if (one.range.begin >= end) {
                co_return Status();
            }
            std::optional<std::int64_t> newest;
            if (one.value.extension.has_value()) {
                newest = one.value.extension->max_timestamp;
            }
            // A compacted object has none of the voids.
            const bool exact =
                one.value.file_type != index::FileType::raw ||
                (one.range.begin >= log.fold.voids_from && log.fold.voids_in(one.range).empty());
            if (!visit(one.range, newest, exact)) {
                co_return Status();
            }
        }
    }
}

rt::Task<Result<std::optional<TimestampHint>>> Shard::find_timestamp(
    LogId id, Offset from, std::int64_t wanted
) {
    const LogPtr kept = log(id);
    Log& target = *kept;
    LKS_CO_TRY(co_await ensure_loaded(target));
    std::optional<TimestampHint> found;
    const auto visit = [&](OffsetRange range, std::optional<std::int64_t> newest, bool) {
        if (newest.value_or(wanted) >= wanted) {
            found = TimestampHint{range};
        }
        return !found.has_value();
    };
    LKS_CO_TRY(co_await visit_timestamps(target, from, visit));
    co_return found;
}

rt::Task<Result<std::vector<TimestampHint>>> Shard::find_max_timestamp(LogId id) {
    const LogPtr kept = log(id);
    Log& target = *kept;
    LKS_CO_TRY(co_await ensure_loaded(target));
    std::vector<TimestampHint> hints;
    std::optional<TimestampHint> best;
    std::int64_t best_timestamp = -1;
    const auto visit = [&](OffsetRange range, std::optional<std::int64_t> newest, bool exact) {
        if (!newest.has_value() || !exact) {
            hints.push_back({range});  // the newest may be a void
        } else if (*newest > best_timestamp) {
            best = TimestampHint{range};
            best_timestamp = *newest;
        }
        return true;
    };
    LKS_CO_TRY(co_await visit_timestamps(target, target.start, visit));
    if (best.has_value()) {
        hints.push_back(*best);
        std::ranges::sort(hints, {}, [](const TimestampHint& hint) { return hint.range.begin; });
    }
    co_return hints;
}

rt::Task<void> Shard::save_in_background(LogPtr log) {
    const Status saved = co_await save(*log);
    log->saving = false;
    if (!saved.ok()) {
        log::warn("log", "snapshot_failed log={} error={}", log->id, saved.error());
    }
}

rt::Task<Status> Shard::save(Log& log) {
    const std::string key = index::partition_key(log.id);
    log.folded_since_saved = 0;
    const auto stored = LKS_CO_TRY(co_await find_record(seams_.metadata, fold_key(log.id), key));
    meta::Expect expect = meta::Expect::absent();
    if (stored.has_value()) {
        const FoldState theirs = LKS_CO_TRY(decode_fold(stored->value));
        if (theirs.end >= log.fold.end) {
            log.saved = std::max(log.saved, log.fold.end);
            co_return Status();
        }
        expect = meta::Expect::at(stored->version.id);
        log.fold.forget_voids(theirs.voids_from);  // a compactor elsewhere needs them no more
    }
    const Offset end = log.fold.end;
    LKS_CO_TRY(co_await meta::put(
        seams_.metadata,
        {.key = fold_key(log.id),
         .value = encode_fold(log.fold),
         .expect = expect,
         .partition_key = key}
    ));
    log.saved = std::max(log.saved, end);
    co_return Status();
}

}  // namespace lakestream::log
