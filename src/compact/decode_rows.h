// SPDX-License-Identifier: Apache-2.0
// From entries as Kafka clients wrote them to table rows.
#pragma once

#include <cstddef>
#include <functional>

#include "compact/spill.h"
#include "table/files.h"

namespace lakestream::compact {

/// Bytes that one batch may decompress to.
inline constexpr std::size_t batch_bytes_max = 512 << 20;

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
