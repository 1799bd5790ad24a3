// SPDX-License-Identifier: Apache-2.0
// Field 100 of an index record (docs/formats/index-record.md, ADR 0010).
//
//   extension = version:uint8 (1)  crc32c:uint32  max_timestamp:varlong  runs:uvarint  run*
//   run       = skip:uvarint  length:uvarint  producer:varlong  epoch:varint  sequence:uvarint
//
// A run is `length` consecutive entries of one producer and epoch whose sequences follow each
// other, `skip` entries behind the run before it.
#pragma once

#include <optional>
#include <span>

#include "index/record.h"

namespace lakestream::index {

/// Sequences inside a run follow from the entries' record counts in `record`.
Bytes encode_extension(const Extension& extension, const IndexRecord& record);

/// None for a version this program does not know. Errors: `corrupt`.
Result<std::optional<Extension>> decode_extension(
    std::span<const std::byte> field, const IndexRecord& record
);

}  // namespace lakestream::index
