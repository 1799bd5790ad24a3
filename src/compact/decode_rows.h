// SPDX-License-Identifier: Apache-2.0
// From entries as Kafka clients wrote them to table rows.
#pragma once

#include <cstddef>
#include <functional>

#include "compact/spill.h"
#include "table/files.h"

namespace lakestream::compact {

/// Bytes that one batch may decompress to (docs/adr/0014-bounds-on-claims.md).
inline constexpr std::size_t batch_bytes_max = 128 << 20;

/// Compare the CRC of each batch that can be found in entries of one log: what a client has sealed
/// is what goes into tables and compacted objects, or nothing does. A batch that cannot be found
/// passes: it was stored like that. Errors: `corrupt`.
Status check_batches(std::span<const SpilledEntry> entries);

/// Told of offsets whose batch does not decode, and why.
using UnreadableSink = std::function<void(OffsetRange, const Error&)>;

/// Call `row` for every record of an entry, in order of offsets. Batches in an entry follow each
/// other; each one's records take the offsets after the one before. A client may send, with the
/// right CRC, a batch whose records nobody can decode: nothing of it becomes a row, and it is no
/// error, so that one client cannot stop a table. Errors: what `row` returns.
Status decode_rows(
    std::int32_t partition,
    const SpilledEntry& entry,
    const std::function<Status(const table::Row&)>& row,
    const UnreadableSink& unreadable
);

}  // namespace lakestream::compact
