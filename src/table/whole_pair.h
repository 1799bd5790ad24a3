// SPDX-License-Identifier: Apache-2.0
// WholePair: a compacted pair that is in memory whole.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "table/files.h"

namespace lakestream::table {

/// Reads entries from both files, over row groups. Blocks, as TableFiles does.
class WholePair {
  public:
    /// Errors: as TableFiles::read_compacted.
    static Result<WholePair> open(TableFiles& files, Bytes parquet, Bytes index);

    /// Whole entries from the one that holds `from` on, or the next one behind a gap, until
    /// `bytes_max` of payload are reached; at least one. Cheapest when it begins where the last
    /// call ended. Errors: `out_of_range` (nothing from there on), `corrupt`.
    Result<std::vector<CompactedEntry>> read(Offset from, std::uint64_t bytes_max);
    std::map<std::string, std::string> footer() const { return reader_->footer(); }

  private:
    WholePair(Bytes parquet, std::unique_ptr<CompactedReader> reader);

    Bytes parquet_;
    std::unique_ptr<CompactedReader> reader_;
    int group_ = -1;  // of `rows_`
    std::unique_ptr<CompactedRows> rows_;
};

}  // namespace lakestream::table
