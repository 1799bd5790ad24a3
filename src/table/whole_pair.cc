// SPDX-License-Identifier: Apache-2.0
// Going from row group to row group.
#include "table/whole_pair.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/result.h"

namespace lakestream::table {

WholePair::WholePair(Bytes parquet, std::unique_ptr<CompactedReader> reader)
    : parquet_(std::move(parquet)), reader_(std::move(reader)) {}

Result<WholePair> WholePair::open(TableFiles& files, Bytes parquet, Bytes index) {
    auto reader = LKS_TRY(files.read_compacted(parquet.size(), parquet, std::move(index)));
    return WholePair(std::move(parquet), std::move(reader));
}

Result<std::vector<CompactedEntry>> WholePair::read(Offset from, std::uint64_t bytes_max) {
    std::vector<CompactedEntry> entries;
    std::uint64_t bytes = 0;
    while (entries.empty() || bytes < bytes_max) {
        const auto found = reader_->find(from, 0);
        if (found.is(ErrorCode::out_of_range) && !entries.empty()) {
            break;
        }
        const RowGroup group = LKS_TRY(found).front();
        if (group.number != group_) {
            rows_ =
                LKS_TRY(reader_->open(group, parquet_.slice(group.begin, group.end - group.begin)));
            group_ = group.number;
        }
        auto more = LKS_TRY(rows_->read(from, bytes_max - bytes));
        for (const CompactedEntry& entry : more) {
            bytes += entry.payload.size();
        }
        from = more.back().range.end;
        std::ranges::move(more, std::back_inserter(entries));
    }
    return entries;
}

}  // namespace lakestream::table
