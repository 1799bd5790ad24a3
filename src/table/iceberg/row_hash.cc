// SPDX-License-Identifier: Apache-2.0
// Canonical rows and their sums.
#include "table/iceberg/row_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <span>

#include "base/endian.h"

namespace lakestream::table::iceberg {

namespace {

/// Appends to a canonical row. Lengths in front of everything of variable size: no two rows share
/// a form.
class Canonical {
  public:
    explicit Canonical(std::vector<std::byte>& out) : out_(out) { out_.clear(); }

    template <std::integral T>
    void number(T value) {
        std::byte bytes[sizeof(T)];
        store_be(bytes, value);
        out_.insert(out_.end(), std::begin(bytes), std::end(bytes));
    }

    void bytes(std::span<const std::byte> value) {
        number(static_cast<std::int64_t>(value.size()));
        out_.insert(out_.end(), value.begin(), value.end());
    }

    void nullable(const std::optional<std::span<const std::byte>>& value) {
        if (value) {
            bytes(*value);
        } else {
            number(std::int64_t{-1});
        }
    }

  private:
    std::vector<std::byte>& out_;
};

void write_canonical(const Row& row, std::vector<std::byte>& out) {
    Canonical to(out);
    to.number(row.partition);
    to.number(row.offset);
    to.number(row.timestamp_ms);
    to.nullable(row.key);
    to.nullable(row.value);
    to.number(static_cast<std::int64_t>(row.headers.size()));
    for (const RowHeader& header : row.headers) {
        to.bytes(std::as_bytes(std::span(header.key)));
        to.nullable(header.value);
    }
}

}  // namespace

RowSum& RowSum::operator+=(const RowSum& more) {
    if (more.rows != 0) {
        first_offset = rows == 0 ? more.first_offset : std::min(first_offset, more.first_offset);
        last_offset = rows == 0 ? more.last_offset : std::max(last_offset, more.last_offset);
    }
    rows += more.rows;
    low += more.low;
    high += more.high + (low < more.low ? 1 : 0);
    return *this;
}

RowSum RowHasher::sum_of(const Row& row) {
    write_canonical(row, canonical_);
    const XXH128_hash_t hash = XXH3_128bits(canonical_.data(), canonical_.size());
    return {
        .rows = 1,
        .high = hash.high64,
        .low = hash.low64,
        .first_offset = row.offset,
        .last_offset = row.offset
    };
}

void RowSums::add(const Row& row) {
    partitions_[row.partition] += hasher_.sum_of(row);
}

void RowSums::add(const RowSums& other) {
    for (const auto& [partition, sum] : other.partitions_) {
        partitions_[partition] += sum;
    }
}

}  // namespace lakestream::table::iceberg
