// SPDX-License-Identifier: Apache-2.0
// The values of a Parquet column whose pages hold them as they are: found, not copied.
//
//   chunk     pages, one behind the other
//   page      header (Thrift, compact protocol), then as many bytes as it says
//   header    1 type: 0; 2 and 3 size: int32, twice; 4 CRC-32 of what follows: int32, optional;
//             5 data page: 1 values, 2 encoding: 0, 3 encoding of definition levels: 3, 4 ignored
//   data      int32 length of levels, little-endian; levels; values
//   levels    runs: of one level (varint count << 1, byte), or of bits (varint groups of 8 << 1 |
//   1) value     int32 length, little-endian; bytes
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"

namespace lakestream::table {

/// All values of a chunk of an optional binary column, of which none is absent: views of `chunk`,
/// which is neither compressed nor encrypted. Each page is compared with its checksum if it has
/// one. Memory: 16 bytes for each value; `rows` is trusted as that much. Errors: `unsupported`
/// (pages of another kind: any Parquet reader may know them), `corrupt`.
Result<std::vector<std::span<const std::byte>>> find_plain_values(
    std::span<const std::byte> chunk, std::size_t rows
);

}  // namespace lakestream::table
