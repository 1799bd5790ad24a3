// SPDX-License-Identifier: Apache-2.0
// Offset by offset: who has what.
#include "cli/row_differences.h"

#include <optional>

namespace lakestream::cli {

namespace {

using Kind = RowDifference::Kind;

/// Whether `next` goes on where `last` ends, in the same way.
bool joins(const RowDifference& last, const RowDifference& next) {
    return last.kind == next.kind && next.kind != Kind::swapped && last.times == next.times &&
           last.file_first == next.file_first && last.file_last == next.file_last;
}

}  // namespace

RowDifferences::Content RowDifferences::content_of(table::Row row) {
    row.offset = 0;
    const table::iceberg::RowSum sum = hasher_.sum_of(row);
    return {sum.high, sum.low};
}

void RowDifferences::add_log(const table::Row& row) {
    Cell& cell = cells_[row.offset];
    ++cell.log;
    cell.log_content = content_of(row);
}

void RowDifferences::add_table(const table::Row& row, std::size_t file) {
    Cell& cell = cells_[row.offset];
    cell.file_first = cell.table == 0 ? file : cell.file_first;
    cell.file_last = file;
    ++cell.table;
    cell.table_content = content_of(row);
}

std::vector<RowDifference> RowDifferences::find() const {
    std::map<Content, std::int64_t> changed;  // what the log has at offsets that are changed
    for (const auto& [offset, cell] : cells_) {
        if (cell.table > 0 && cell.log > 0 && cell.table_content != cell.log_content) {
            changed.emplace(cell.log_content, offset);
        }
    }
    std::vector<RowDifference> found;
    bool neighbours = false;  // the offset before this one differs
    for (const auto& [offset, cell] : cells_) {
        RowDifference next{
            .first = offset,
            .last = offset,
            .rows = 1,
            .file_first = cell.file_first,
            .file_last = cell.file_last
        };
        if (cell.table == 0) {
            next.kind = Kind::missing;
        } else if (cell.log == 0) {
            next.kind = Kind::foreign;
        } else if (cell.table != cell.log) {
            next.kind = Kind::repeated;
            next.times = cell.table;
        } else if (cell.table_content == cell.log_content) {
            neighbours = false;
            continue;
        } else if (const auto other = changed.find(cell.table_content); other != changed.end()) {
            next.kind = Kind::swapped;
            next.other = other->second;
        } else {
            next.kind = Kind::changed;
        }
        if (neighbours && joins(found.back(), next)) {
            found.back().last = offset;
            ++found.back().rows;
        } else {
            found.push_back(next);
        }
        neighbours = true;
    }
    return found;
}

}  // namespace lakestream::cli
