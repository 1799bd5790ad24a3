// SPDX-License-Identifier: Apache-2.0
// RowSums: what a set of rows adds up to, for comparing a table with its stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "table/files.h"

namespace lakestream::table::iceberg {

/// Rows of one partition: how many, and the sum of their hashes modulo 2^128. Equal rows give equal
/// sums in any order; a changed, missing, doubled or swapped row gives another.
struct RowSum {
    std::int64_t rows = 0;
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    std::int64_t first_offset = 0;  // smallest and largest; 0 when there are no rows
    std::int64_t last_offset = 0;

    RowSum& operator+=(const RowSum& more);
    bool operator==(const RowSum&) const = default;
};

/// Hash: XXH3, 128 bits, of the row's canonical form (docs/formats/iceberg-table.md). Cost: one
/// copy of the row.
class RowHasher {
  public:
    /// The sum of this row alone.
    RowSum sum_of(const Row& row);

  private:
    std::vector<std::byte> canonical_;  // kept between rows for its memory
};

/// Sums by partition.
class RowSums {
  public:
    void add(const Row& row);
    /// As if the other's rows had been added here.
    void add(const RowSums& other);
    const std::map<std::int32_t, RowSum>& partitions() const { return partitions_; }

  private:
    std::map<std::int32_t, RowSum> partitions_;
    RowHasher hasher_;
};

}  // namespace lakestream::table::iceberg
