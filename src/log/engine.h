// SPDX-License-Identifier: Apache-2.0
// Engine: the logs of one node: append, read, wait; the interface that protocols are built on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"
#include "rt/future.h"

namespace lakestream::log {

/// Who wrote an entry, when it is an idempotent producer (KIP-98). Sequences count records and wrap
/// from 2^31 - 1 to 0.
struct ProducerStamp {
    std::int64_t id = 0;
    std::int16_t epoch = 0;
    std::int32_t base_sequence = 0;

    friend bool operator==(const ProducerStamp&, const ProducerStamp&) = default;
};

/// The CRC-32C of a payload from byte `begin` on, by whoever has just checked it.
struct CheckedBytes {
    std::size_t begin = 0;
    std::uint32_t crc32c = 0;
};

/// One entry to append: opaque bytes that hold `records` records.
struct AppendRequest {
    LogId log;
    Bytes payload;                          // stored unchanged
    std::int32_t records = 0;               // >= 1
    std::int64_t max_timestamp = -1;        // of its records, ms since the epoch; -1: none
    std::optional<ProducerStamp> producer;  // absent: not idempotent
    /// When its request began to be read from its socket; absent: now. An object's date is never
    /// younger than the requests in it (docs/protocols/append.md).
    std::optional<WallTime> arrived;
    std::optional<CheckedBytes> checked;  // spares reading the payload once more
};

/// Where an acknowledged entry is.
struct Appended {
    Offset offset;           // of its first record
    WallTime created;        // when its index record was made
    bool duplicate = false;  // it was there already: the original's offset
};

/// Distinctions below the error code of an append (Error::reason).
enum class AppendReason : std::uint16_t {
    none = 0,
    out_of_order_sequence,   // invalid_argument: final, the sequence does not follow
    unknown_producer_id,     // invalid_argument: final, the producer must start at sequence 0
    invalid_producer_epoch,  // fenced: final, a newer epoch has written
};

/// Bounds of a log as this node has folded it.
struct LogBounds {
    Offset start;           // first readable offset
    Offset high_watermark;  // end of what is readable; also the last stable offset
};

/// An idempotent producer that a log remembers.
struct ActiveProducer {
    std::int64_t id = 0;
    std::int16_t epoch = 0;
    std::int32_t last_sequence = -1;
    WallTime seen;  // when it wrote last, by the metadata store's clock
};

struct ReadRequest {
    LogId log;
    Offset from;
    std::uint32_t bytes_max = 0;  // of payload; the first entry comes back even when it is larger
    /// From then on: answer what has been found. The first entry is waited for nonetheless, unless
    /// reading it has not begun.
    Deadline patience = no_deadline;
    /// Refuse to read the object store for this log: answer what memory holds, maybe nothing.
    bool memory_only = false;
};

/// One readable entry, or a range of offsets that holds nothing (void).
struct ReadEntry {
    OffsetRange range;
    Bytes payload;  // as appended; empty when void
    WallTime created;
    bool is_void = false;
};

/// Entries from the one that holds `from` on, in order, without holes between them.
struct ReadBatch {
    std::vector<ReadEntry> entries;
    LogBounds bounds;
};

struct LogPosition {
    LogId log;
    Offset seen;  // the high watermark the caller knows
};

/// Where to begin looking for a record by its timestamp.
struct TimestampHint {
    OffsetRange range;  // of one index record; every earlier record has a smaller timestamp
};

/// Each log has a home shard by hash of its id, where its order, fold state and tail cache live;
/// each call goes there and the answer comes back to the caller's executor. Owned by the node.
/// Costs are in docs/protocols/append.md.
class Engine {
  public:
    virtual ~Engine() = default;

    /// Append entries, each to its log. **The call orders, the future completes**: entries of one
    /// log keep the order of the calls of one caller. An entry is acknowledged when its object is
    /// stored, its index record published and folded (INV-ACK-DURABLE). One result for each
    /// request, in order.
    ///
    /// Errors: AppendReason's; `fenced` (the log is deleted), `throttled` (bytes in flight at their
    /// limit), `exhausted`, `deadline_exceeded` (never published and never will be),
    /// `outcome_unknown` (at the deadline its fate was open: the same entry may be sent again by an
    /// idempotent producer), `cancelled` (stopping).
    virtual rt::Future<std::vector<Result<Appended>>> append(
        std::vector<AppendRequest> requests, Deadline deadline
    ) = 0;

    /// Read entries of several logs. Errors: `out_of_range` (before the start or beyond the end),
    /// `not_found` (no such log, or deleted), `corrupt` (an object is damaged or missing; the
    /// message names it), `unavailable`. One result for each request, in order.
    virtual rt::Future<std::vector<Result<ReadBatch>>> read(std::vector<ReadRequest> requests) = 0;

    /// Bounds, folded up to what the metadata store has now. One result for each log, in order.
    virtual rt::Future<std::vector<Result<LogBounds>>> bounds(std::vector<LogId> logs) = 0;

    /// Bytes of payload between each log's start and end. The first index record counts whole, also
    /// when the log starts within it. Errors: as `bounds`. Cost: two reads of metadata for each
    /// log.
    virtual rt::Future<std::vector<Result<std::int64_t>>> sizes(std::vector<LogId> logs) = 0;

    /// The producers that a log remembers, by id: at most 10,000. Errors and cost: as `bounds`.
    virtual rt::Task<Result<std::vector<ActiveProducer>>> producers(LogId log) = 0;

    /// True as soon as one of the logs has more than `seen`; false at the deadline. Cost: none.
    virtual rt::Task<bool> wait_append(std::vector<LogPosition> positions, Deadline deadline) = 0;

    /// The first index record that may hold a record with a timestamp >= `timestamp`, from offset
    /// `from` on; none when there is none.
    virtual rt::Task<Result<std::optional<TimestampHint>>> find_timestamp(
        LogId log, std::int64_t timestamp, Offset from
    ) = 0;

    /// Index records among which one holds the largest timestamp, ascending: the one that is known
    /// to hold the largest, and all of which it is not known (compacted, by others, with voids).
    virtual rt::Task<Result<std::vector<TimestampHint>>> find_max_timestamp(LogId log) = 0;

    /// From now on the log starts at `to`, or at its high watermark: for good, on every node.
    /// Nothing happens when it starts there or later already. Errors: `out_of_range` (beyond the
    /// high watermark), `not_found`, `unavailable`, `outcome_unknown` (trim again). Cost: 2 reads
    /// and 1 write, none when nothing happens.
    virtual rt::Task<Result<LogBounds>> trim(LogId log, std::optional<Offset> to) = 0;

    /// Refuse all further appends to a log and forget it: it is being deleted.
    virtual rt::Task<void> fence(LogId log) = 0;
};

}  // namespace lakestream::log
