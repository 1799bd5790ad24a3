// SPDX-License-Identifier: Apache-2.0
// MetadataStore: the seam to ordered, versioned records; the semantics are Oxia's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"
#include "rt/future.h"

namespace lakestream::meta {

/// One of the store's shards; a record lives on the shard of its partition key (its key, if none).
struct ShardId : StrongNumber<ShardId, std::int64_t> {
    using StrongNumber::StrongNumber;
};

/// A client's session; ephemeral records end with it.
struct SessionId : StrongNumber<SessionId, std::int64_t> {
    using StrongNumber::StrongNumber;
};

/// Counts the successful puts of a shard.
struct VersionId : StrongNumber<VersionId, std::int64_t> {
    using StrongNumber::StrongNumber;
};

/// What the store knows about a record's value.
struct Version {
    VersionId id;                    // grows with every put of the shard
    std::int64_t modifications = 0;  // 0 for a new record
    WallTime created;                // the store's clock; survives overwriting
    WallTime modified;
    std::optional<SessionId> session;     // set when ephemeral
    std::optional<std::string> identity;  // as given by the last put
};

/// A condition on a write: none, the record is absent, or it has this version.
struct Expect {
    static Expect any() { return {}; }
    static Expect absent() { return {.version = VersionId(-1)}; }
    static Expect at(VersionId version) { return {.version = version}; }

    std::optional<VersionId> version;  // -1: absent
};

struct Put {
    std::string key;
    Bytes value;
    Expect expect;
    std::optional<std::string> partition_key;
    /// Not empty: a sequence put. The stored key is `key` and, for each delta, "-" and 20 digits:
    /// the deltas added to the numbers of the highest such key. Needs a partition key; first delta
    /// > 0.
    std::vector<std::uint64_t> sequence_deltas;
    std::optional<SessionId> session;
    std::optional<std::string> identity;  // free text, kept short
};

struct Delete {
    std::string key;
    Expect expect;  // absent(): changes nothing and tells whether the key exists (a presence probe)
};

/// Delete all keys in [begin, end) in key order.
struct DeleteRange {
    std::string begin;
    std::string end;
};

/// One atomic write of one shard, for any partition keys that live there. Puts are applied in
/// order, then deletes, then ranges; each condition is judged by itself, so the rest is applied
/// when one fails. At most 100,000 operations and 8 MiB.
struct ShardBatch {
    std::vector<Put> puts;
    std::vector<Delete> deletes;
    std::vector<DeleteRange> ranges;
};

struct PutDone {
    std::string key;  // the stored key: for a sequence put the full one
    Version version;
};

/// Answers in the order of the operations. A put: `conflict` (version condition), `lease_lost`
/// (session unknown), `invalid_argument` (sequence without partition key, fewer deltas than stored
/// numbers, overflow …). A delete: `not_found`, `conflict` (version condition; for a probe: it
/// exists).
struct ShardBatchDone {
    std::vector<Result<PutDone>> puts;
    std::vector<Status> deletes;
};

enum class Comparison : std::uint8_t {
    equal,
    floor,    // the highest key <= the wanted one
    ceiling,  // the lowest key >= the wanted one
    lower,    // the highest key < the wanted one
    higher,   // the lowest key > the wanted one
};

struct Record {
    std::string key;
    Bytes value;
    Version version;
};

struct Get {
    std::string key;
    Comparison comparison = Comparison::equal;
    /// Asks only the shard of this partition key; an inexact get without one asks all shards.
    std::optional<std::string> partition_key;
};

/// Half-open range of keys in key order; an empty `end` has no end.
struct Range {
    std::string begin;
    std::string end;
    std::optional<std::string> partition_key;  // absent: all shards, merged in key order
};

/// Records of one snapshot, in key order, a page at a time.
class Scan {
  public:
    virtual ~Scan() = default;
    /// The next records, up to a page of the store's choice; empty at the end.
    virtual rt::Future<Result<std::vector<Record>>> next() = 0;
};

enum class ChangeKind : std::uint8_t { created, modified, deleted, range_deleted };

struct Change {
    ChangeKind kind;
    std::string key;                   // of a range: its begin
    std::string range_end;             // range_deleted only
    std::optional<VersionId> version;  // created and modified only
};

/// All changes of one write of one shard, one for each key (the last), sorted by the keys' bytes.
/// Can be empty: a session was opened, or every operation was refused.
struct ChangeBatch {
    ShardId shard;
    std::int64_t offset = 0;  // of the shard's log: ascending, with holes
    std::vector<Change> changes;
};

/// Receives batches in order per shard until it is dropped. Called on the executor given to
/// `subscribe`. `gap` means that changes were lost: read again what matters.
class Subscription {
  public:
    virtual ~Subscription() = default;
};

struct SubscribeHandler {
    std::move_only_function<void(const ChangeBatch&)> changed;
    std::move_only_function<void(ShardId)> gap;
};

enum class KeyOrder : std::uint8_t {
    /// Segment by segment; where one key has its last segment and the other has not, the one that
    /// ends comes first; else the segments' bytes decide. As Oxia 0.14 orders.
    hierarchical,
    natural,  // bytewise
};

/// **The call orders, the future completes**: writes of one caller to one shard are applied in the
/// order of the calls. Safe to call from any thread; a future completes on its awaiter's executor.
///
/// Errors of every call: `unavailable`, `deadline_exceeded`, `throttled` (nothing was applied),
/// `invalid_argument` (keys under `__oxia/`, invalid UTF-8, too large), `cancelled` (closing).
/// Only writes return `outcome_unknown`: the batch may be applied, now or later, wholly or not at
/// all.
class MetadataStore {
  public:
    virtual ~MetadataStore() = default;

    virtual KeyOrder key_order() const = 0;
    /// The shard of a partition key now. Cost: none.
    virtual ShardId shard_of(std::string_view partition_key) const = 0;
    /// All shards now, ascending.
    virtual std::vector<ShardId> shards() const = 0;

    /// Apply a batch to one shard, atomically. Cost: 1 write request.
    virtual rt::Future<Result<ShardBatchDone>> write(ShardId shard, ShardBatch batch) = 0;
    /// One record. `not_found` when nothing matches. Cost: 1 read request per shard asked.
    virtual rt::Future<Result<Record>> get(Get request) = 0;
    /// A snapshot per shard, taken at the first page. Cost: 1 read stream per shard asked.
    virtual std::unique_ptr<Scan> scan(Range range) = 0;
    /// Keys only. Cost as `scan`.
    virtual rt::Future<Result<std::vector<std::string>>> list(Range range) = 0;

    /// Open a session, kept alive by the store's client until it is closed. `timeout` 2 s to 5 min.
    /// `on_lost` is called once, from any thread, when the session has ended without our asking.
    virtual rt::Future<Result<SessionId>> open_session(
        Duration timeout, std::string identity, std::move_only_function<void()> on_lost
    ) = 0;
    virtual rt::Future<Status> close_session(SessionId session) = 0;

    /// Changes from now on; returns once positioned, so that a read made afterwards misses nothing.
    virtual rt::Future<Result<std::unique_ptr<Subscription>>> subscribe(
        rt::Executor& executor, SubscribeHandler handler
    ) = 0;
};

/// `put` of one record on the shard of its partition key. Cost: 1 write request.
rt::Task<Result<PutDone>> put(MetadataStore& store, Put request);
/// `remove` of one record. Cost: 1 write request.
rt::Task<Status> remove(
    MetadataStore& store, Delete request, std::optional<std::string> partition_key = std::nullopt
);
/// All records of a range. Refuses (`exhausted`) to hold more than `limit` records.
rt::Task<Result<std::vector<Record>>> read_all(
    MetadataStore& store, Range range, std::size_t limit
);

}  // namespace lakestream::meta
