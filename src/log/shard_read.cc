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

namespace lakestream::log {

namespace {

std::string fold_key(LogId log) {
    return fmt::format("/lks/fold/{}", log.v);
}

}  // namespace

rt::Task<Status> Shard::ensure_loaded(Log& log) {
    const auto turn = co_await log.folding.acquire(1);
    if (log.state == LoadState::loaded) {
        co_return Status();
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
    const auto mark =
        LKS_CO_TRY(co_await find_record(seams_.metadata, index::mark_key(log.id), key));
    if (mark.has_value()) {
        log.start = LKS_CO_TRY(index::parse_mark(mark->value));
    }
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
    const auto value = LKS_TRY(index::IndexRecord::decode(record.value));
    const FoldRecord folded = LKS_TRY(to_fold_record(log.id, record, value));
    if (folded.range.begin != log.fold.end || value.file_type != index::FileType::raw) {
        return conflict("log {}: record {} does not join {}", log.id, record.key, log.fold.end);
    }
    auto verdicts = fold(log.fold, folded);
    ++log.folded_since_saved;
    // The payload is not at hand: memory holds what comes after.
    drop_tail(log);
    if (folded.writer.has_value() && folded.writer->writer == log.our_writer &&
        verdicts.front().verdict != Verdict::resent) {
        log.unclaimed[folded.writer->number] = std::move(verdicts);
    }
    return Status();
}

void Shard::drop_tail(Log& log) {
    if (log.tail.empty()) {
        return;
    }
    for (const TailEntry& entry : log.tail) {
        tail_bytes_ -= entry.payload.size();
    }
    log.tail.clear();
    std::erase(tail_order_, &log);
}

rt::Task<Status> Shard::refresh(Log& log) {
    LKS_CO_TRY(co_await ensure_loaded(log));
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
    Log& target = log(id);
    target.announced = std::max(target.announced, end);
    if (target.state == LoadState::absent && !target.waiters.empty()) {
        grew(target);  // whoever waits reads, and reading loads
    }
    start_catch_up(target);
}

void Shard::changes_lost() {
    for (const auto& [id, log] : logs_) {  // any order: each looks for itself
        log->changes_lost = true;
        if (!log->waiters.empty()) {
            start_catch_up(*log);
        }
    }
}

void Shard::start_catch_up(Log& log) {
    const bool useful = log.state == LoadState::loaded && !log.fenced && behind(log);
    if (useful && !log.catching_up && !scope_.stopping()) {
        log.catching_up = true;
        scope_.spawn(catch_up(log));
    }
}

rt::Task<void> Shard::catch_up(Log& log) {
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
    co_return error;
}

rt::Task<Result<LogBounds>> Shard::bounds(LogId id) {
    Log& target = log(id);
    if (settings_.shared_metadata) {
        LKS_CO_TRY(co_await refresh(target));
    } else {
        LKS_CO_TRY(co_await ensure_loaded(target));
    }
    if (target.fenced) {
        co_return not_found("log {} is deleted", id);
    }
    co_return LogBounds{target.start, target.fold.end};
}

rt::Task<Result<ReadBatch>> Shard::read(ReadRequest request) {
    Log& target = log(request.log);
    LKS_CO_TRY(co_await ensure_loaded(target));
    LKS_CO_TRY(co_await refresh_to(target, request.from));
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

ReadBatch Shard::read_tail(const Log& log, const ReadRequest& request) const {
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
    return batch;
}

rt::Task<std::vector<LogId>> Shard::take_grown() {
    const std::set<LogId> grown = std::exchange(grown_, {});
    co_return std::vector<LogId>(grown.begin(), grown.end());
}

rt::Task<Result<std::vector<WalkRecord>>> Shard::walk(LogId id, Offset from, std::size_t limit) {
    Log& target = log(id);
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
            one.voids = target.fold.voids_in(one.range);
        }
    }
    if (walked.size() > limit) {
        walked.resize(limit);
    }
    co_return walked;
}

rt::Task<Result<Offset>> Shard::checkpoint(LogId id) {
    Log& target = log(id);
    LKS_CO_TRY(co_await ensure_loaded(target));
    if (target.saved < target.fold.end) {
        LKS_CO_TRY(co_await save(target));
    }
    co_return target.saved;
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
            if (!visit(one.range, newest)) {
                co_return Status();
            }
        }
    }
}

rt::Task<Result<std::optional<TimestampHint>>> Shard::find_timestamp(
    LogId id, Offset from, std::int64_t wanted
) {
    Log& target = log(id);
    LKS_CO_TRY(co_await ensure_loaded(target));
    std::optional<TimestampHint> found;
    const auto visit = [&](OffsetRange range, std::optional<std::int64_t> newest) {
        if (newest.value_or(wanted) >= wanted) {
            found = TimestampHint{range};
        }
        return !found.has_value();
    };
    LKS_CO_TRY(co_await visit_timestamps(target, from, visit));
    co_return found;
}

rt::Task<Result<std::vector<TimestampHint>>> Shard::find_max_timestamp(LogId id) {
    Log& target = log(id);
    LKS_CO_TRY(co_await ensure_loaded(target));
    std::vector<TimestampHint> hints;
    std::optional<TimestampHint> best;
    std::int64_t best_timestamp = -1;
    const auto visit = [&](OffsetRange range, std::optional<std::int64_t> newest) {
        if (!newest.has_value() || !target.fold.voids_in(range).empty()) {
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

rt::Task<void> Shard::save_in_background(Log& log) {
    const Status saved = co_await save(log);
    log.saving = false;
    if (!saved.ok()) {
        log::warn("log", "snapshot_failed log={} error={}", log.id, saved.error());
    }
}

rt::Task<Status> Shard::save(Log& log) {
    const Offset end = log.fold.end;
    const std::string key = index::partition_key(log.id);
    Bytes value = encode_fold(log.fold);
    log.folded_since_saved = 0;
    const auto stored = LKS_CO_TRY(co_await find_record(seams_.metadata, fold_key(log.id), key));
    meta::Expect expect = meta::Expect::absent();
    if (stored.has_value()) {
        const FoldState theirs = LKS_CO_TRY(decode_fold(stored->value));
        if (theirs.end >= end) {
            log.saved = std::max(log.saved, end);
            co_return Status();
        }
        expect = meta::Expect::at(stored->version.id);
    }
    LKS_CO_TRY(co_await meta::put(
        seams_.metadata,
        {.key = fold_key(log.id), .value = std::move(value), .expect = expect, .partition_key = key}
    ));
    log.saved = std::max(log.saved, end);
    co_return Status();
}

}  // namespace lakestream::log
