// SPDX-License-Identifier: Apache-2.0
// Record batches with their records compressed otherwise than their producer did.
#pragma once

#include <cstddef>

#include "codec/compress.h"
#include "lakestream/bytes.h"
#include "lakestream/result.h"

namespace lakestream::codec {

/// The same batch with its records in another codec: header, offsets, times and producer stay; its
/// length, codec and CRC are new. The records are looked at one by one. Does not look at the old
/// CRC. Cost: the records in memory, twice; CPU of both codecs. Errors: as `RecordReader::open()`
/// and `status()`; `exhausted` when the records have more than `records_bytes_max`.
Result<Bytes> recompress_batch(const Bytes& batch, Compression to, std::size_t records_bytes_max);

}  // namespace lakestream::codec
