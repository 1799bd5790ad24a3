// SPDX-License-Identifier: Apache-2.0
// Reads entries of a compacted pair.
#pragma once

#include <cstdint>
#include <memory>

#include "table/files.h"

namespace lakestream::table {

/// As TableFiles::read_compacted.
Result<std::unique_ptr<CompactedReader>> open_compacted(
    std::uint64_t parquet_bytes, const Bytes& parquet_tail, const Bytes& index
);

}  // namespace lakestream::table
