// SPDX-License-Identifier: Apache-2.0
// The compactor's second cut: compacted objects.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "codec/record_batch.h"
#include "compact/compactor.h"
#include "compact/local_file.h"
#include "log/start.h"

namespace lakestream::compact {

namespace {

/// Offsets of one index record.
constexpr std::int64_t records_max = std::numeric_limits<std::int32_t>::max();

/// Not known unless both are: of an entry that is no batches nobody can tell.
std::optional<std::int64_t> later_of(
    std::optional<std::int64_t> newest, const Result<std::int64_t>& other
) {
    return newest.has_value() && other.ok() ? std::optional(std::max(*newest, *other))
                                            : std::nullopt;
}

}  // namespace

Offset Compactor::limit_of(LogId log, const LogWork& work) const {
    // A table reads entries from the spill: compaction stays behind it.
    const TableWork* const table = table_of(work);
    return table == nullptr ? Offset(std::numeric_limits<std::int64_t>::max())
                            : table->position(log);
}

std::vector<Chunk> Compactor::plan_compact(LogId log, const LogWork& work) const {
    const Offset limit = limit_of(log, work);
    std::vector<Chunk> chunks;
    std::uint64_t bytes = 0;
    for (Chunk& chunk : spill_.chunks(log, work.state.state.cursor)) {
        const bool fits = chunk.range.end - work.state.state.cursor <= records_max;
        if (chunk.range.end > limit || bytes >= settings_.compact_bytes_max || !fits) {
            break;
        }
        bytes += static_cast<std::uint64_t>(chunk.payload_bytes);
        chunks.push_back(chunk);
    }
    return chunks;
}

rt::Task<Status> Compactor::compact_logs(Cut cut) {
    const MonoTime now = seams_.executor.now();
    std::vector<LogId> due;
    for (const auto& [log, work] : logs_) {
        if (!work.waiting_since.has_value()) {
            continue;  // nothing has come since it was compacted
        }
        std::uint64_t bytes = 0;
        for (const Chunk& chunk : plan_compact(log, work)) {
            bytes += static_cast<std::uint64_t>(chunk.payload_bytes);
        }
        const bool old = now - *work.waiting_since >= settings_.compact_age;
        if (bytes > 0 && (cut == Cut::flush || bytes >= settings_.compact_bytes || old)) {
            due.push_back(log);
        }
    }
    for (const LogId log : due) {
        const Status compacted = co_await compact_log(log, logs_.at(log));
        if (compacted.is(ErrorCode::conflict)) {
            note("resync", co_await resync(log));
        } else if (compacted.is(ErrorCode::fenced)) {
            forget_deleted(log);
        } else if (!compacted.ok()) {
            if (compacted.is(ErrorCode::not_found)) {
                pending_.insert(log);  // a look at it tells whether it was deleted
            }
            note(fmt::format("compact(log {})", log), compacted);
        }
    }
    co_return Status();
}

Result<NewPair> Compactor::write_pair(
    LogId log, OffsetRange range, const std::vector<Chunk>& chunks, std::string uuid
) {
    table::TableFiles* files = LKS_TRY(seams_.loader.get());
    const auto writer =
        LKS_TRY(files->write_compacted(seams_.scratch_folder, std::move(uuid), log));
    std::optional<std::int64_t> newest = -1;
    Gaps gaps(range.begin);
    for (const Chunk& chunk : chunks) {
        for (SpilledEntry& entry : LKS_TRY(load_chunk(log, chunk))) {
            gaps.add(entry.range);
            newest = later_of(newest, codec::newest_timestamp(entry.payload.span()));
            LKS_TRY(writer->add({
                .range = entry.range,
                .timestamp_ms = to_ms(entry.created),
                .cumulative_size = entry.cumulative,
                .payload = std::move(entry.payload),
            }));
        }
    }
    return NewPair{
        .files = LKS_TRY(writer->finish()),
        .max_timestamp = newest,
        .gaps = gaps.finish(range.end),
    };
}

rt::Task<Status> Compactor::put_in_place(
    LogId log, LogWork& work, const table::CompactedPair& files, Intent intent
) {
    const std::string folder = compacted_folder(work.stream->name.ns, work.stream->name.name);
    const std::string name = fmt::format("{}/{}", folder, intent.location);
    constexpr auto same = objstore::IfExists::overwrite;
    // The index first: a data file without its index is never met by name.
    Status stored = co_await seams_.compacted.put_file(
        fmt::format("{}.index", name.substr(0, name.rfind('.'))), files.index_path, same
    );
    if (stored.ok()) {
        stored = co_await seams_.compacted.put_file(name, files.parquet_path, same);
    }
    remove_local_file(files.index_path);
    remove_local_file(files.parquet_path);
    LKS_CO_TRY(std::move(stored));
    work.state =
        LKS_CO_TRY(co_await begin_replace(seams_.metadata, log, work.state, std::move(intent)));
    LKS_CO_TRY(co_await finish_replace(seams_.metadata, log, work.state));
    work.state = LKS_CO_TRY(co_await load_state(seams_.metadata, log));
    co_return Status();
}

rt::Task<Status> Compactor::compact_log(LogId log, LogWork& work) {
    LKS_CO_TRY(co_await renew_state(log, work));
    const Offset cursor = work.state.state.cursor;
    const Offset start = LKS_CO_TRY(co_await log::load_start(seams_.metadata, log));
    work.state = LKS_CO_TRY(co_await skip_trimmed(seams_.metadata, log, work.state, start));
    const std::vector<Chunk> chunks = plan_compact(log, work);
    if (work.state.state.cursor != cursor) {
        release(log, work);
    }
    if (chunks.empty()) {
        if (work.spilled <= work.state.state.cursor) {
            work.waiting_since.reset();
        }
        co_return Status();  // all of it is trimmed
    }
    const OffsetRange range{work.state.state.cursor, chunks.back().range.end};
    const bool cut_by_size = range.end < std::min(work.spilled, limit_of(log, work));
    const log::Checkpoint saved = LKS_CO_TRY(co_await seams_.view.checkpoint(log, range));
    if (saved.end < range.end) {
        co_return unavailable("log {}: the fold snapshot ends at {}", log, saved.end);
    }
    const std::string uuid = new_uuid();
    Result<NewPair> pair = co_await rt::offload(seams_.offloader, [&] {
        return write_pair(log, range, chunks, uuid);
    });
    const auto [files, max_timestamp, gaps] = LKS_CO_TRY(std::move(pair));
    if (gaps != saved.voids) {
        spoiled_.insert(log);
        remove_local_file(files.index_path);
        remove_local_file(files.parquet_path);
        co_return unavailable(
            "log {} is brought in again: what came of {} to {} is not what counts",
            log,
            range.begin,
            range.end
        );
    }
    LKS_CO_TRY(co_await put_in_place(
        log,
        work,
        files,
        {.range = range,
         .location = fmt::format("ursa-{}.parquet", uuid),
         .payload_bytes = files.payload_bytes,
         .entries = files.entries,
         .max_timestamp = max_timestamp,
         .voids = voids_checksum(range, saved.voids)}
    ));
    note_piece(log, work);
    if (cut_by_size) {
        more_ = true;  // the rest has waited as long
    } else if (work.spilled > work.state.state.cursor) {
        work.waiting_since = seams_.executor.now();
    } else {
        work.waiting_since.reset();
    }
    metrics_.compaction.note(seams_.executor.now());
    metrics_.compacted.add();
    metrics_.compacted_bytes.add(static_cast<std::uint64_t>(files.payload_bytes));
    release(log, work);
    co_return Status();
}

}  // namespace lakestream::compact
