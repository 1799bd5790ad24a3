// SPDX-License-Identifier: Apache-2.0
// The parts of `lakestream check` that read Parquet files. Blocking, on the command's own thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/report.h"
#include "compact/compacted_objects.h"
#include "lakestream/types.h"
#include "server/leaves.h"

namespace lakestream::cli {

/// What an index record says about a compacted pair.
struct CompactedClaim {
    std::string key;  // of the index record
    LogId log;
    OffsetRange range;
    std::string name;  // of the Parquet file, in the store
    std::int64_t payload_bytes = 0;
    std::int64_t cumulative = 0;  // payload of the log up to the range's end
    /// Offsets that hold nothing; absent: not known.
    std::optional<std::vector<OffsetRange>> voids;
    /// compact::voids_checksum of them; 0: not known.
    std::uint32_t voids_checksum = 0;
};

/// Both files are there and decode, are of this log, and hold exactly the claim's offsets but for
/// voids, in batches with the right CRC. Errors: of stdout, and what is no damage.
Status check_compacted(
    server::Leaves& leaves,
    compact::TableFilesLoader& loader,
    const CompactedClaim& claim,
    Report& report
);

/// Every table: its files are there and read, and hold the rows and offsets that metadata and
/// position say. Returns how many tables there are. Errors: as above.
Result<std::size_t> check_tables(
    server::Leaves& leaves, compact::TableFilesLoader& loader, Report& report
);

}  // namespace lakestream::cli
