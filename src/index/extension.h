// SPDX-License-Identifier: Apache-2.0
// Field 100 of an index record (docs/formats/index-record.md, ADR 0010).
//
//   extension = version:uint8 (1)  crc32c:uint32  max_timestamp:varlong  n:uvarint  producer*n run*
//   producer  = id:varlong (minus the id before)  (zigzag(epoch) << 2 | control << 1 |
//   transactional)
//               :uvarint
//   run       = (p << 2 | has_sequence << 1 | has_length):uvarint  [length:uvarint]
//               [sequence:varint]
//
// A run is `length` (default: 1) consecutive entries of the p-th producer, from 1 on; p = 0: of
// none. The first entry has `sequence`, or by default what follows the producer's entry before (at
// first: 0); each other follows the one before it.
#pragma once

#include <optional>
#include <span>

#include "index/record.h"

namespace lakestream::index {

/// Sequences follow from the entries' record counts in `record`. Precondition: producers ascend by
/// entry, inside the record. Size: about 1 byte an entry once a producer has been named, or none
/// where one producer's entries stand together.
Bytes encode_extension(const Extension& extension, const IndexRecord& record);

/// None for a version this program does not know. Precondition: `record.entry_records()` is ok.
/// Errors: `corrupt`.
Result<std::optional<Extension>> decode_extension(
    std::span<const std::byte> field, const IndexRecord& record
);

}  // namespace lakestream::index
