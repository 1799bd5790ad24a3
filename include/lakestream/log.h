// SPDX-License-Identifier: Apache-2.0
// Log: append to and read one log of a stream (Level 0 of the Lakestream specification).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lakestream/bytes.h"
#include "lakestream/future.h"
#include "lakestream/record.h"
#include "lakestream/types.h"

namespace lakestream {

namespace api {
struct LogHandle;
}

struct AppendOptions {
    /// Of the batch that `Log::append` makes.
    Compression compression = Compression::none;
    /// An entry that is not published after this long never will be. 1 ms to an hour.
    std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

/// Where an acknowledged entry is.
struct Appended {
    OffsetRange range;
    /// The batch came from an idempotent producer and was there already: the original's place.
    bool duplicate = false;
};

struct ReadLimits {
    /// At least 1. The first entry comes back even when it alone is more than a limit.
    std::uint32_t records_max = 10'000;
    /// Of entries as stored. At least 1.
    std::uint32_t bytes_max = 1 << 20;
};

/// One append: the unit that is stored whole or not at all.
struct Entry {
    OffsetRange range;  // one offset for each record
    Timestamp written;  // when its place in the log was decided
    Bytes payload;      // as appended; `read_batch(payload, range.begin)` has its records
};

/// What can be read of a log now. An empty log has equal bounds.
struct LogBounds {
    Offset start;           // of the first record
    Offset high_watermark;  // behind the last record: the next one gets it

    bool operator==(const LogBounds&) const = default;
};

struct ReadBatch {
    std::vector<Entry> entries;
    /// Where to read on. Beyond the last entry, and maybe further: some offsets hold nothing.
    Offset next;
    LogBounds bounds;
};

/// A record's place in offsets and time.
struct RecordPlace {
    Offset offset;
    Timestamp timestamp;
};

enum class Waited : std::uint8_t { appended, timed_out };

/// One log (partition) of a stream, opened by `StreamCatalog::open_log`. A value: copies mean the
/// same log. Any thread may call; nothing has to be closed. It takes no lease: any number of
/// engines and Kafka clients may append to one log.
///
/// Errors of every call: `cancelled` (the engine is closed), `not_found` or `fenced` (the stream
/// was dropped), `unavailable`, `corrupt` (an object is damaged or missing; the message names it).
/// Requests in the costs are to the object store; those of many logs are shared.
class Log {
  public:
    explicit Log(std::shared_ptr<const api::LogHandle> handle) : handle_(std::move(handle)) {}

    LogId id() const noexcept;

    /// Append records as one entry, in order and without others between them. A record without a
    /// timestamp gets the time of the call. The batch is made and compressed on the caller's
    /// thread. Otherwise as `append_entry`.
    Future<Appended> append(std::span<const Record> records, const AppendOptions& options = {});

    /// Append one entry: a whole Kafka record batch of format 2 that holds `records` records, with
    /// base offset 0, at most `max.message.bytes` long (1 MiB unless the stream says otherwise). It
    /// is stored unchanged. The future completes when the entry is durable: in a stored object,
    /// published in the index, and counted. Entries of one thread to one log keep the order of its
    /// calls.
    ///
    /// Errors: `invalid_argument` (the batch, its size, its timestamps, `records`; of an idempotent
    /// producer a sequence that does not follow), `fenced` (dropped, or a newer epoch of the
    /// producer), `throttled` (too many bytes in flight), `exhausted` (disk), `deadline_exceeded`
    /// (never appended, never will be), `outcome_unknown` (at the time-out its fate was open).
    /// Cost: part of 1 PUT and 1 metadata write per flush, for all logs of the engine.
    Future<Appended> append_entry(
        std::uint32_t records, Bytes payload, const AppendOptions& options = {}
    );

    /// Whole entries, from the one that holds `from` on, in order. None when `from` is the high
    /// watermark. Errors: `out_of_range` (below the start; above the high watermark, once it was
    /// looked up again for `log.damage_patience`), `invalid_argument` (limits of 0). Cost: none for
    /// recent entries; else a ranged GET for each object that is not cached.
    Future<ReadBatch> read(Offset from, const ReadLimits& limits = {});

    /// The records of `read`, from `from` itself on: entries decoded, and records before `from`
    /// left out.
    Future<std::vector<StoredRecord>> read_records(Offset from, const ReadLimits& limits = {});

    /// Start and high watermark, up to everything acknowledged anywhere before the call. Cost: 1
    /// metadata read.
    Future<LogBounds> bounds();

    /// The first record whose timestamp is `time` or later; none when there is none. Cost: reads
    /// index records, then entries around the answer.
    Future<std::optional<RecordPlace>> find_time(Timestamp time);

    /// Everything before `start` is no longer readable, for good: `start` may be any offset up to
    /// the high watermark. A log never starts earlier again. Returns where it starts now. Errors:
    /// `out_of_range` (beyond the high watermark), `outcome_unknown` (trim again). What nobody can
    /// read is deleted later, in whole objects. Cost: a few metadata reads and 1 or 2 writes.
    Future<Offset> trim(Offset start);

    /// Wait until the log has more than `seen`, for instance `ReadBatch::next`. Cost: none.
    Future<Waited> wait_append(Offset seen, std::chrono::milliseconds timeout);

  private:
    std::shared_ptr<const api::LogHandle> handle_;
};

}  // namespace lakestream
