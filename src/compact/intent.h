// SPDX-License-Identifier: Apache-2.0
// Where compaction of a log stands, `/lks/compact/<log>` (docs/protocols/compaction.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"

namespace lakestream::compact {

/// One replacement that has been decided and may be half done: whoever finds it finishes it, with
/// these files, before anything else.
struct Intent {
    /// Ends at an index key. Begins at the cursor; that of a merge ends there or before it.
    OffsetRange range;
    std::string location;            // of the compacted object, below its stream's folder
    std::int64_t payload_bytes = 0;  // of the WAL entries it holds
    std::int64_t entries = 0;
    /// The largest of the entries' records, ms since the epoch; -1: none; absent: not known.
    std::optional<std::int64_t> max_timestamp;
    std::uint32_t voids = 0;  // voids_checksum of the range; 0: not known

    friend bool operator==(const Intent&, const Intent&) = default;
};

struct CompactState {
    Offset cursor;  // everything before it is compacted
    std::optional<Intent> intent;

    friend bool operator==(const CompactState&, const CompactState&) = default;
};

/// What a range lacks, as its index record says it (docs/formats/index-record.md): CRC-32C of the
/// range and its voids, which ascend and are merged.
std::uint32_t voids_checksum(OffsetRange range, std::span<const OffsetRange> voids);

std::string state_key(LogId log);
Bytes encode_state(const CompactState& state);
/// Errors: `corrupt`; `unsupported` (a newer version).
Result<CompactState> decode_state(const Bytes& stored);

}  // namespace lakestream::compact
