// SPDX-License-Identifier: Apache-2.0
// RowDifferences: two sets of rows of one partition, compared offset by offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "table/iceberg/row_hash.h"

namespace lakestream::cli {

/// Neighbouring rows that differ in the same way.
struct RowDifference {
    enum class Kind : std::uint8_t {
        missing,   // the log has them, the table has not
        foreign,   // the table has them, the log has not
        changed,   // other bytes
        swapped,   // the table has the row of the log's offset `other` here
        repeated,  // the table has them `times` times
    };

    Kind kind = Kind::missing;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t rows = 0;       // offsets that differ, from first to last
    std::int64_t times = 0;      // repeated
    std::int64_t other = 0;      // swapped
    std::size_t file_first = 0;  // of the table; not for missing
    std::size_t file_last = 0;

    bool operator==(const RowDifference&) const = default;
};

/// Memory: about 150 bytes for each offset. Rows come in any order.
class RowDifferences {
  public:
    void add_log(const table::Row& row);
    void add_table(const table::Row& row, std::size_t file);
    /// In the order of offsets.
    std::vector<RowDifference> find() const;

  private:
    using Content = std::pair<std::uint64_t, std::uint64_t>;  // hash of a row without its offset

    struct Cell {
        std::int64_t table = 0;  // rows
        std::int64_t log = 0;
        Content table_content;  // of the last one
        Content log_content;
        std::size_t file_first = 0;
        std::size_t file_last = 0;
    };

    Content content_of(table::Row row);

    std::map<std::int64_t, Cell> cells_;  // by offset
    table::iceberg::RowHasher hasher_;
};

}  // namespace lakestream::cli
