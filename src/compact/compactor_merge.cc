// SPDX-License-Identifier: Apache-2.0
// The compactor's third job: small compacted objects beside each other become one.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "compact/compactor.h"
#include "compact/merge.h"
#include "index/key.h"
#include "log/index_scan.h"
#include "log/index_value.h"
#include "log/start.h"

namespace lakestream::compact {

namespace {

constexpr std::int64_t small_bytes_max = 64 << 20;  // one is in memory whole
constexpr Duration failure_rest = 10s;

/// Of all merged pieces, or not known.
std::uint32_t voids_of(std::span<const CompactedPiece> pieces, const NewPair& merged) {
    const bool known =
        std::ranges::none_of(pieces, [](const auto& piece) { return piece.voids == 0; });
    const OffsetRange range{pieces.front().range.begin, pieces.back().range.end};
    return known ? voids_checksum(range, merged.gaps) : 0;
}

}  // namespace

void Compactor::note_piece(LogId log, LogWork& work) {
    if (++work.pieces_added >= settings_.merge_objects) {
        work.pieces_added = 0;
        mergeable_.insert(log);
    }
}

rt::Task<bool> Compactor::merge_some() {
    if (settings_.merge_objects == 0 || mergeable_.empty() ||
        seams_.executor.now() < merge_resting_until_) {
        co_return false;
    }
    auto next = mergeable_.upper_bound(last_merged_);
    next = next == mergeable_.end() ? mergeable_.begin() : next;
    const LogId log = last_merged_ = *next;
    const auto work = logs_.find(log);
    if (work == logs_.end()) {
        mergeable_.erase(log);
        co_return !mergeable_.empty();
    }
    const Result<bool> merged = co_await merge_log(log, work->second);
    if (merged.ok() ? !*merged : merged.is(ErrorCode::corrupt)) {
        mergeable_.erase(log);  // looked at again when it has more, damaged or not
    }
    if (merged.is(ErrorCode::conflict)) {
        note("resync", co_await resync(log));
    } else if (merged.is(ErrorCode::fenced)) {
        forget_deleted(log);
    } else if (!merged.ok()) {
        merge_resting_until_ = seams_.executor.now() + failure_rest;
        note(fmt::format("merge(log {})", log), merged.error());
    }
    merge_next_ = seams_.executor.now() + settings_.tick;
    co_return merged.ok() && !mergeable_.empty();
}

rt::Task<Result<std::vector<CompactedPiece>>> Compactor::load_pieces(LogId log, Offset end) {
    const Offset start = LKS_CO_TRY(co_await log::load_start(seams_.metadata, log));
    std::vector<CompactedPiece> pieces;
    log::IndexScan scan(seams_.metadata, log, start, end);
    while (true) {
        const auto page = LKS_CO_TRY(co_await scan.next());
        if (page.empty()) {
            co_return pieces;
        }
        for (const meta::Record& record : page) {
            log::WalkRecord one = LKS_CO_TRY(log::to_walk_record(log, record));
            const auto& extension = one.value.extension;
            const bool ours = one.value.file_type != index::FileType::raw && extension.has_value();
            pieces.push_back({
                .range = one.range,
                .location = std::move(one.value.location),
                .payload_bytes = one.value.entry_size_bytes,
                .max_timestamp = ours && one.range.begin >= start
                                     ? std::optional(extension->max_timestamp)
                                     : std::nullopt,
                .voids = ours ? extension->crc32c : 0,
            });
        }
    }
}

rt::Task<Result<bool>> Compactor::merge_log(LogId log, LogWork& work) {
    LKS_CO_TRY(co_await renew_state(log, work));
    const auto pieces = LKS_CO_TRY(co_await load_pieces(log, work.state.state.cursor));
    const MergeLimits limits{
        .pieces_min = settings_.merge_objects,
        .pieces_max = std::max<std::size_t>(64, settings_.merge_objects),
        .small_bytes =
            std::min(static_cast<std::int64_t>(settings_.compact_bytes), small_bytes_max),
        .bytes_max = static_cast<std::int64_t>(settings_.compact_bytes_max),
    };
    const auto run = plan_merge(pieces, limits);
    if (run.empty()) {
        co_return false;
    }
    const std::string uuid = new_uuid();
    const NewPair merged = LKS_CO_TRY(co_await merge_pairs(log, work, run, uuid));
    LKS_CO_TRY(co_await put_in_place(
        log,
        work,
        merged.files,
        {.range = {run.front().range.begin, run.back().range.end},
         .location = fmt::format("ursa-{}.parquet", uuid),
         .payload_bytes = merged.files.payload_bytes,
         .entries = merged.files.entries,
         .max_timestamp = merged.max_timestamp,
         .voids = voids_of(run, merged)}
    ));
    metrics_.merges.add();
    metrics_.merged_bytes.add(static_cast<std::uint64_t>(merged.files.payload_bytes));
    log::info(
        "compact", "merged log={} objects={} bytes={}", log, run.size(), merged.files.payload_bytes
    );
    co_return true;
}

rt::Task<Result<NewPair>> Compactor::merge_pairs(
    LogId log, const LogWork& work, std::span<const CompactedPiece> pieces, std::string uuid
) {
    const std::string folder = compacted_folder(work.stream->name.ns, work.stream->name.name);
    Result<PairMerger> merger = co_await rt::offload(seams_.offloader, [&] {
        return PairMerger::create(
            seams_.loader, seams_.scratch_folder, std::move(uuid), log, pieces.front().range.begin
        );
    });
    LKS_CO_TRY(merger.ok() ? Status() : Status(merger.error()));
    for (const CompactedPiece& piece : pieces) {
        const std::string name = fmt::format("{}/{}", folder, piece.location);
        const std::string stem = name.substr(0, name.rfind('.'));
        // Whole, so that a store which knows their checksums compares them.
        Bytes index = LKS_CO_TRY(co_await seams_.compacted.get(stem + ".index", std::nullopt));
        Bytes parquet = LKS_CO_TRY(co_await seams_.compacted.get(name, std::nullopt));
        LKS_CO_TRY(co_await rt::offload(seams_.offloader, [&] {
            return merger->add(piece, std::move(parquet), std::move(index));
        }));
    }
    co_return co_await rt::offload(seams_.offloader, [&] { return merger->finish(); });
}

}  // namespace lakestream::compact
