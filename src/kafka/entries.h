// SPDX-License-Identifier: Apache-2.0
// Entries: between a log's opaque entries and Kafka's record batches.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/slices.h"
#include "catalog/catalog.h"
#include "codec/compress.h"
#include "kafka/error_map.h"
#include "lakestream/bytes.h"
#include "log/engine.h"

namespace lakestream::kafka {

/// Why the records of one partition of a Produce request are refused.
struct RecordsRefusal {
    KafkaError code;
    std::string message;
};

/// Whether a topic's records get the time at which they came to the broker.
bool has_append_time(const catalog::Properties& properties);

/// What a topic's batches are compressed with, when that is not their producers' to say.
std::optional<codec::Compression> topic_codec(const catalog::Properties& properties);

/// The entry that the records of one partition become, without its log: their bytes, and in a topic
/// with LogAppendTime a copy of them with `now` for their time. Exactly one batch of format
/// 2, whose checksum is right and which is neither transactional nor a control batch. Records
/// that are not compressed are checked too; nothing is decompressed.
std::expected<log::AppendRequest, RecordsRefusal> entry_of_records(
    const Bytes& records,
    const catalog::Properties& properties,
    std::int16_t produce_version,
    WallTime now
);

/// An entry as a consumer gets it: its batches from the one that holds `from` on, with their
/// offsets and the leader epoch written into a copy of their first bytes. Those lie outside the
/// checksum; the rest is shared. A void becomes a batch without records, as Kafka's cleaner leaves
/// them, so that a consumer moves on. Errors: `corrupt`.
Result<Slices> stamp_entry(const log::ReadEntry& entry, Offset from, std::int32_t leader_epoch);

/// Where a record is, in offset and time.
struct RecordTime {
    Offset offset;
    std::int64_t timestamp = -1;
};

/// The first record of the entry at or after `from` whose timestamp is at least `timestamp`; none
/// if there is none. Decompresses only a batch that holds it, to 32 MiB at most: of a larger one
/// its first offset, not below `from`, stands for the record, and its largest timestamp. Errors:
/// `corrupt`.
Result<std::optional<RecordTime>> first_since(
    const log::ReadEntry& entry, Offset from, std::int64_t timestamp
);

/// The first record with the largest timestamp; none in a void. Of a batch of more than 32 MiB its
/// last offset stands for the record. Errors: `corrupt`.
Result<std::optional<RecordTime>> latest_record(const log::ReadEntry& entry);

}  // namespace lakestream::kafka
