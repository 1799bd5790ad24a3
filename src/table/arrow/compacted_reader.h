// SPDX-License-Identifier: Apache-2.0
// Reads entries of a compacted pair.
#pragma once

#include <memory>

#include "table/files.h"

namespace lakestream::table {

/// Reads the whole index and Parquet's footer. Memory: 40 bytes for each entry, one row group (8
/// MiB in files of ours). Errors: `corrupt`, `unsupported` (entries of another format).
Result<std::unique_ptr<CompactedReader>> open_compacted(
    std::unique_ptr<RandomFile> parquet, std::unique_ptr<RandomFile> index
);

}  // namespace lakestream::table
