// SPDX-License-Identifier: Apache-2.0
// The `.index` half of a compacted pair (docs/formats/compacted-object.md): one header per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"

namespace lakestream::table {

/// What the index says of one row: an entry as it was appended.
struct EntryHeader {
    Offset offset;  // of its first record
    std::int32_t records = 0;
    std::int64_t timestamp_ms = 0;
    std::int32_t size_bytes = 0;       // of the payload
    std::int64_t cumulative_size = 0;  // of the log up to and including this entry

    OffsetRange range() const { return {.begin = offset, .end = offset + records}; }
    friend bool operator==(const EntryHeader&, const EntryHeader&) = default;
};

/// A row's `metadata` text: Base64 of a protobuf.
std::string encode_metadata(const EntryHeader& header);
/// Numbers that are missing are zero; fields not known are skipped. Errors: `corrupt`.
Result<EntryHeader> decode_metadata(std::string_view text);

/// Builds the content of an index, before gzip, in pieces. Memory: one block, 8 bytes a row.
class CompactedIndexWriter {
  public:
    /// Readers load block by block; other engines' blocks have this many rows.
    static constexpr std::size_t block_rows_max = 10'000;

    /// Precondition: headers come in the order of their ranges.
    void add(const EntryHeader& header);
    /// The bytes that are complete so far: they go out before the next ones.
    std::string take();
    /// The last bytes. Precondition: a header was added.
    std::string finish();

  private:
    void end_block();

    std::string block_;  // JSON of the open block; empty when none is open
    std::string done_;
    std::vector<Offset> offsets_;
};

/// All headers of an index as stored (gzip), in row order; their ranges ascend. Memory: the
/// uncompressed content, about 100 bytes a row, at most 1 GiB. Errors: `corrupt`, `exhausted`.
Result<std::vector<EntryHeader>> decode_compacted_index(const Bytes& stored);
/// The same from the uncompressed content.
Result<std::vector<EntryHeader>> decode_compacted_index_content(const Bytes& content);

}  // namespace lakestream::table
