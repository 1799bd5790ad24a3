// SPDX-License-Identifier: Apache-2.0
// The compactor's second cut: compacted objects.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "compact/compactor.h"
#include "compact/local_file.h"

namespace lakestream::compact {

rt::Task<Status> Compactor::store_file(std::string path, std::string name) {
    Result<Bytes> bytes =
        co_await rt::offload(seams_.offloader, [&path] { return read_local_file(path); });
    Status stored = co_await seams_.compacted.put(
        std::move(name), Slices(LKS_CO_TRY(std::move(bytes))), objstore::IfExists::overwrite
    );
    co_return stored;
}

Offset Compactor::limit_of(LogId log, const LogWork& work) const {
    // A table reads entries from the spill: compaction stays behind it.
    const auto table = tables_.find(work.stream->name);
    return table == tables_.end() ? Offset(std::numeric_limits<std::int64_t>::max())
                                  : table->second.position(log);
}

std::vector<Chunk> Compactor::plan_compact(LogId log, const LogWork& work) const {
    const Offset limit = limit_of(log, work);
    std::vector<Chunk> chunks;
    std::uint64_t bytes = 0;
    for (Chunk& chunk : spill_.chunks(log, work.state.state.cursor)) {
        if (chunk.range.end > limit || bytes >= settings_.compact_bytes_max) {
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
        std::uint64_t bytes = 0;
        for (const Chunk& chunk : plan_compact(log, work)) {
            bytes += static_cast<std::uint64_t>(chunk.payload_bytes);
        }
        const bool old =
            work.waiting_since.has_value() && now - *work.waiting_since >= settings_.compact_age;
        if (bytes > 0 && (cut == Cut::flush || bytes >= settings_.compact_bytes || old)) {
            due.push_back(log);
        }
    }
    for (const LogId log : due) {
        const Status compacted = co_await compact_log(log, logs_.at(log));
        if (compacted.is(ErrorCode::conflict)) {
            note("resync", co_await resync(log));
        } else if (compacted.is(ErrorCode::not_found)) {
            pending_.insert(log);  // a look at it tells whether it was deleted
        }
        if (!compacted.ok() && !compacted.is(ErrorCode::conflict)) {
            note(fmt::format("compact(log {})", log), compacted);
        }
    }
    co_return Status();
}

Result<table::CompactedPair> Compactor::write_pair(
    LogId log, const std::vector<Chunk>& chunks, std::string uuid
) {
    table::TableFiles* files = LKS_TRY(seams_.loader.get());
    const auto writer =
        LKS_TRY(files->write_compacted(seams_.scratch_folder, std::move(uuid), log));
    for (const Chunk& chunk : chunks) {
        for (SpilledEntry& entry : LKS_TRY(spill_.load(chunk))) {
            LKS_TRY(writer->add({
                .range = entry.range,
                .timestamp_ms = to_ms(entry.created),
                .cumulative_size = entry.cumulative,
                .payload = std::move(entry.payload),
            }));
        }
    }
    return writer->finish();
}

rt::Task<Status> Compactor::compact_log(LogId log, LogWork& work) {
    if (work.state.state.intent.has_value()) {
        co_return co_await resync(log);
    }
    const std::vector<Chunk> chunks = plan_compact(log, work);
    const OffsetRange range{work.state.state.cursor, chunks.back().range.end};
    const bool cut_by_size = range.end < std::min(work.spilled, limit_of(log, work));
    const Offset saved = LKS_CO_TRY(co_await seams_.view.checkpoint(log));
    if (saved < range.end) {
        co_return unavailable("log {}: the fold snapshot ends at {}", log, saved);
    }
    const std::string uuid = new_uuid();
    using Pair = Result<table::CompactedPair>;
    Pair pair = co_await rt::offload(seams_.offloader, [&]() -> Pair {
        return write_pair(log, chunks, uuid);
    });
    const table::CompactedPair files = LKS_CO_TRY(std::move(pair));
    const std::string folder = compacted_folder(work.stream->name.ns, work.stream->name.name);
    const std::string name = fmt::format("ursa-{}", uuid);
    // The index first: a data file without its index is never met by name.
    Status stored = co_await store_file(files.index_path, fmt::format("{}/{}.index", folder, name));
    if (stored.ok()) {
        stored =
            co_await store_file(files.parquet_path, fmt::format("{}/{}.parquet", folder, name));
    }
    remove_local_file(files.index_path);
    remove_local_file(files.parquet_path);
    LKS_CO_TRY(std::move(stored));
    work.state = LKS_CO_TRY(co_await begin_replace(
        seams_.metadata,
        log,
        work.state,
        {.range = range,
         .location = fmt::format("{}.parquet", name),
         .payload_bytes = files.payload_bytes,
         .entries = files.entries}
    ));
    LKS_CO_TRY(co_await finish_replace(seams_.metadata, log, work.state));
    work.state = LKS_CO_TRY(co_await load_state(seams_.metadata, log));
    if (cut_by_size) {
        more_ = true;  // the rest has waited as long
    } else if (work.spilled > work.state.state.cursor) {
        work.waiting_since = seams_.executor.now();
    } else {
        work.waiting_since.reset();
    }
    metrics_.compacted.add();
    metrics_.compacted_bytes.add(static_cast<std::uint64_t>(files.payload_bytes));
    release(log, work);
    co_return Status();
}

}  // namespace lakestream::compact
