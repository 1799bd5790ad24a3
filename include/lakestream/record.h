// SPDX-License-Identifier: Apache-2.0
// Records, and the batches that are the entries of a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lakestream/bytes.h"
#include "lakestream/result.h"
#include "lakestream/types.h"

namespace lakestream {

/// UTC, in milliseconds since 1970.
using Timestamp = std::chrono::sys_time<std::chrono::milliseconds>;

struct Header {
    std::string key;
    std::optional<Bytes> value;

    bool operator==(const Header&) const = default;
};

/// A record. No key or value and an empty one are different things.
struct Record {
    std::optional<Bytes> key;
    std::optional<Bytes> value;
    std::vector<Header> headers;
    /// When it was made. Absent: the record has none.
    std::optional<Timestamp> timestamp;

    bool operator==(const Record&) const = default;
};

/// A record and its place in its log.
struct StoredRecord {
    Offset offset;
    Record record;

    bool operator==(const StoredRecord&) const = default;
};

/// How a batch's records are compressed, all together.
enum class Compression : std::uint8_t { none, gzip, snappy, lz4, zstd };

/// A Kafka record batch of format 2 (docs/formats/kafka-record-batch.md) with these records, in
/// order: what `Log::append_entry` takes. Pure: no engine, no request. Errors: `invalid_argument`
/// (no records; more than 2^31 - 1 bytes).
Result<Bytes> make_batch(
    std::span<const Record> records, Compression compression = Compression::none
);

/// The records of an entry whose first one has the offset `first`, in order. Keys, values and
/// headers share one decompressed buffer: `Bytes::compact()` what is kept for long. Pure. Errors:
/// `corrupt`, `unsupported` (not batches of format 2), `exhausted` (more than 256 MiB
/// decompressed).
Result<std::vector<StoredRecord>> read_batch(const Bytes& entry, Offset first);

}  // namespace lakestream
