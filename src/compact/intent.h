// SPDX-License-Identifier: Apache-2.0
// Where compaction of a log stands, `/lks/compact/<log>` (docs/protocols/compaction.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"

namespace lakestream::compact {

/// One replacement that has been decided and may be half done: whoever finds it finishes it, with
/// these files, before anything else.
struct Intent {
    OffsetRange range;               // begins at the cursor, ends at an index key
    std::string location;            // of the compacted object, below its stream's folder
    std::int64_t payload_bytes = 0;  // of the WAL entries it holds
    std::int64_t entries = 0;

    friend bool operator==(const Intent&, const Intent&) = default;
};

struct CompactState {
    Offset cursor;  // everything before it is compacted
    std::optional<Intent> intent;

    friend bool operator==(const CompactState&, const CompactState&) = default;
};

std::string state_key(LogId log);
Bytes encode_state(const CompactState& state);
/// Errors: `corrupt`; `unsupported` (a newer version).
Result<CompactState> decode_state(const Bytes& stored);

}  // namespace lakestream::compact
