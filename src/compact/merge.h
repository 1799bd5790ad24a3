// SPDX-License-Identifier: Apache-2.0
// Merging small compacted objects: which of them become one, and how their entries get there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "compact/compacted_objects.h"
#include "compact/new_pair.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"

namespace lakestream::compact {

/// A compacted index record, as a merge sees it.
struct CompactedPiece {
    OffsetRange range;
    std::string location;  // below its stream's folder
    std::int64_t payload_bytes = 0;
    /// As the Intent's; absent also of other writers' records, which are left alone.
    std::optional<std::int64_t> max_timestamp;
    std::uint32_t voids = 0;  // as the Intent's
};

struct MergeLimits {
    std::size_t pieces_min = 8;  // 0: nothing is merged
    std::size_t pieces_max = 64;
    std::int64_t small_bytes = 64 << 20;  // an object of so much is not written again
    std::int64_t bytes_max = 256 << 20;   // in the merged object
};

/// Neighbours to merge next; empty when it is not worth it. What comes of them is at least
/// `pieces_min / 2` times the largest of them, or not small any more and at least twice the
/// largest: so a byte is written again only logarithmically often. Pure. Cost: O(pieces).
std::span<const CompactedPiece> plan_merge(
    std::span<const CompactedPiece> pieces, const MergeLimits& limits
);

/// Copies the entries of neighbouring pairs into one new pair. Blocks: each call on an offloaded
/// thread. Memory: one input and 1 MiB of the output. Dropped unfinished it leaves no file.
class PairMerger {
  public:
    /// Errors: as TableFiles::write_compacted. `begin` is the first piece's.
    static Result<PairMerger> create(
        TableFilesLoader& loader, std::string folder, std::string uuid, LogId log, Offset begin
    );

    /// Precondition: the piece begins where the one before ended. Errors: `corrupt` (the pair is
    /// damaged, or not what its record says; nothing may come of this merge), as CompactedWriter.
    Status add(const CompactedPiece& piece, Bytes parquet, Bytes index);
    /// Errors: as CompactedWriter::finish.
    Result<NewPair> finish();

  private:
    PairMerger(table::TableFiles& files, std::unique_ptr<table::CompactedWriter> out, Offset begin)
        : files_(&files), out_(std::move(out)), gaps_(begin), end_(begin) {}

    table::TableFiles* files_;
    std::unique_ptr<table::CompactedWriter> out_;
    Gaps gaps_;
    Offset end_;
    std::int64_t newest_ = -1;
};

}  // namespace lakestream::compact
