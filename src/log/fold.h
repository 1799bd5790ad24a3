// SPDX-License-Identifier: Apache-2.0
// The fold: which index records of a log count, as a pure function of the log's prefix
// (INV-PREFIX).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"
#include "log/engine.h"

namespace lakestream::log {

/// The rules below are a format: a snapshot carries this number, and a node that does not know it
/// refuses the log.
inline constexpr std::uint32_t fold_rule_version = 2;

/// A: how late an index record may be published after the date in its object's name.
inline constexpr auto publish_window = std::chrono::minutes(30);

/// A producer is forgotten when idle longer than this by M and when `producers_kept_min` producers
/// of the log are more recent; or when `producers_kept_max` are: S is one metadata record.
inline constexpr auto producer_idle_max = std::chrono::hours(24 * 7);
inline constexpr std::size_t producers_kept_min = 1000;
inline constexpr std::size_t producers_kept_max = 10'000;
inline constexpr std::size_t batches_kept = 5;  // of each producer, as Kafka keeps
inline constexpr std::size_t numbers_kept = 8;  // of each writer

/// Who published an index record: the `client_identity` of its sequence put,
/// `lks/<writer>/<birth>/<n>` (hexadecimal, decimal ms, decimal).
struct WriterStamp {
    std::uint64_t writer = 0;  // one node process for one log
    WallTime birth;            // its clock when it began
    std::uint64_t number = 0;  // counts flushes of the log, from 0; bound to the entries

    std::string to_identity() const;
    /// None when the text is not one of ours.
    static std::optional<WriterStamp> parse(std::string_view identity);
    friend bool operator==(const WriterStamp&, const WriterStamp&) = default;
};

/// What the fold needs to know of one entry.
struct FoldEntry {
    std::int32_t records = 0;
    std::optional<ProducerStamp> producer;
};

/// What the fold needs to know of one raw index record.
struct FoldRecord {
    OffsetRange range;
    WallTime created;                     // by the metadata store's clock
    std::optional<WriterStamp> writer;    // absent: not ours
    std::optional<WallTime> object_date;  // in the object's name; absent: none
    std::vector<FoldEntry> entries;
};

enum class Verdict : std::uint8_t {
    valid,
    duplicate,           // of one of the producer's kept batches: answered with its offset
    published_late,      // V0
    resent,              // V1: this number has landed before
    out_of_order_write,  // V1: a number before it is missing, or the writer is dead
    out_of_order_sequence,
    unknown_producer,
    old_epoch,
};

struct EntryVerdict {
    Verdict verdict = Verdict::valid;
    Offset offset;  // of its first record; of a duplicate: the original's
};

/// S: everything the verdict on the next record depends on; and the voids, for readers.
struct FoldState {
    struct Number {
        std::uint64_t number = 0;
        Offset start;
        friend bool operator==(const Number&, const Number&) = default;
    };

    struct Writer {
        std::uint64_t last = 0;
        WallTime date;              // the largest seen
        std::deque<Number> recent;  // the last numbers_kept, ascending
        friend bool operator==(const Writer&, const Writer&) = default;
    };

    struct Batch {
        std::int32_t first_sequence = 0;
        std::int32_t last_sequence = 0;
        Offset offset;
        friend bool operator==(const Batch&, const Batch&) = default;
    };

    struct Producer {
        std::int16_t epoch = 0;
        WallTime seen;               // M at its last valid batch
        Offset last_entry;           // start of its last valid entry: the order of recency
        std::vector<Batch> batches;  // the last batches_kept, oldest first
        friend bool operator==(const Producer&, const Producer&) = default;
    };

    Offset end;            // first offset not folded
    WallTime max_created;  // M: the largest created time so far
    std::map<std::uint64_t, Writer> writers;
    std::map<std::int64_t, Producer> producers;
    Offset voids_from;                       // those before it are forgotten
    std::vector<OffsetRange> voids;          // ascending, merged
    std::map<Offset, std::int64_t> recency;  // last_entry -> producer id; derived

    friend bool operator==(const FoldState&, const FoldState&) = default;

    /// A batch of the producer that matches exactly, if it is among those kept.
    const Batch* find_duplicate(const ProducerStamp& stamp, std::int32_t records) const;
    /// Whether this writer number has landed, and where; none when it has not, or is not known.
    std::optional<Offset> landed(const WriterStamp& writer) const;
    /// The part of `range` from its begin on that is void; empty when it begins with a valid
    /// record.
    OffsetRange void_at(Offset offset) const;
    /// The void parts of `range`, ascending. Precondition of both: what is asked for begins at
    /// `voids_from` or behind it.
    std::vector<OffsetRange> voids_in(OffsetRange range) const;
    /// What ends at or before `offset` is compacted: its object has no voids. No verdict depends on
    /// it.
    void forget_voids(Offset offset);
};

/// Fold one record onto the state; one verdict for each entry. Precondition: it joins
/// (record.range.begin == state.end) and its entries' records add up to its range.
std::vector<EntryVerdict> fold(FoldState& state, const FoldRecord& record);

/// `/lks/fold/<log id>`, on the log's shard: where the stored form is.
inline std::string fold_key(LogId log) {
    return "/lks/fold/" + std::to_string(log.v);
}
/// The stored form (docs/formats/fold-snapshot.md).
Bytes encode_fold(const FoldState& state);
/// Errors: `corrupt`; `unsupported` (made by rules this node does not know).
Result<FoldState> decode_fold(const Bytes& stored);

}  // namespace lakestream::log
