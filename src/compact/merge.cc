// SPDX-License-Identifier: Apache-2.0
// Choosing runs of small objects, and copying their entries.
#include "compact/merge.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/format.h"
#include "compact/decode_rows.h"
#include "compact/intent.h"
#include "compact/spill.h"
#include "table/compacted_index.h"
#include "table/whole_pair.h"

namespace lakestream::compact {

namespace {

constexpr std::int64_t records_max = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t read_bytes = 4 << 20;

/// How many pieces from the first one on become one; 0: none.
std::size_t run_length(std::span<const CompactedPiece> pieces, const MergeLimits& limits) {
    const auto growth_min = static_cast<std::int64_t>(limits.pieces_min / 2);
    std::int64_t bytes = 0;
    std::int64_t largest = 0;
    std::size_t length = 0;
    for (std::size_t i = 0; i < std::min(pieces.size(), limits.pieces_max); ++i) {
        const CompactedPiece& piece = pieces[i];
        bytes += piece.payload_bytes;
        largest = std::max(largest, piece.payload_bytes);
        const bool joins = i == 0 || piece.range.begin == pieces[i - 1].range.end;
        if (!joins || !piece.max_timestamp.has_value() ||
            piece.payload_bytes >= limits.small_bytes || bytes > limits.bytes_max ||
            piece.range.end - pieces.front().range.begin > records_max) {
            break;
        }
        const bool grows = i + 1 >= limits.pieces_min && bytes >= growth_min * largest;
        const bool is_last_time = i > 0 && bytes >= std::max(limits.small_bytes, 2 * largest);
        if (grows || is_last_time) {
            length = i + 1;
        }
    }
    return length;
}

}  // namespace

std::span<const CompactedPiece> plan_merge(
    std::span<const CompactedPiece> pieces, const MergeLimits& limits
) {
    for (; limits.pieces_min > 1 && !pieces.empty(); pieces = pieces.subspan(1)) {
        if (const std::size_t length = run_length(pieces, limits); length > 0) {
            return pieces.first(length);
        }
    }
    return {};
}

Result<PairMerger> PairMerger::create(
    TableFilesLoader& loader, std::string folder, std::string uuid, LogId log, Offset begin
) {
    table::TableFiles* const files = LKS_TRY(loader.get());
    auto out = LKS_TRY(files->write_compacted(std::move(folder), std::move(uuid), log));
    return PairMerger(*files, std::move(out), begin);
}

Status PairMerger::add(const CompactedPiece& piece, Bytes parquet, Bytes index) {
    LKS_ASSERT(piece.range.begin == end_ && piece.max_timestamp.has_value());
    auto pair = LKS_TRY(table::WholePair::open(*files_, std::move(parquet), std::move(index)));
    Gaps gaps(piece.range.begin);
    std::int64_t bytes = 0;
    Offset at = piece.range.begin;
    while (at < piece.range.end) {
        auto read = pair.read(at, read_bytes);
        if (read.is(ErrorCode::out_of_range)) {
            break;  // only voids are left
        }
        for (table::CompactedEntry& entry : LKS_TRY(std::move(read))) {
            if (entry.range.begin < at || entry.range.end > piece.range.end) {
                return corrupt(
                    "{} has offsets {} to {}, its index record not",
                    piece.location,
                    entry.range.begin,
                    entry.range.end
                );
            }
            at = entry.range.end;
            gaps.add(entry.range);
            gaps_.add(entry.range);
            bytes += static_cast<std::int64_t>(entry.payload.size());
            LKS_TRY(check_batches(
                std::vector<SpilledEntry>{{entry.range, entry.cumulative_size, {}, entry.payload}}
            ));
            LKS_TRY(out_->add(entry));
        }
    }
    const auto lacks = gaps.finish(piece.range.end);
    if (bytes != piece.payload_bytes ||
        (piece.voids != 0 && voids_checksum(piece.range, lacks) != piece.voids)) {
        return corrupt(
            "{} has {} bytes of payload and {} gaps, which is not what its index record says",
            piece.location,
            bytes,
            lacks.size()
        );
    }
    end_ = piece.range.end;
    newest_ = std::max(newest_, *piece.max_timestamp);
    return {};
}

Result<NewPair> PairMerger::finish() {
    return NewPair{
        .files = LKS_TRY(out_->finish()), .max_timestamp = newest_, .gaps = gaps_.finish(end_)
    };
}

}  // namespace lakestream::compact
