// SPDX-License-Identifier: Apache-2.0
// ShardState: what one shard does with writes and sessions. Pure: no IO, no clock, no threads; the
// records lie behind ShardRecords. All stores of ours answer by it, so they answer alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "meta/metadata_store.h"
#include "meta/sequence_keys.h"

namespace lakestream::meta {

/// A record as stored under its encoded key.
struct StoredRecord {
    Bytes value;
    Version version;
    std::optional<std::string> partition_key;  // only kept, for whoever moves records elsewhere
};

/// What the rules need to know of a record that is there already.
struct RecordHead {
    VersionId id;
    std::int64_t modifications = 0;
    WallTime created;
    std::optional<SessionId> session;
};

/// A session, and the encoded keys of the records that end with it.
struct Session {
    Duration timeout{};
    std::string identity;
    std::set<std::string, std::less<>> keys;
};

/// The ordered map of one shard's records, by encoded key (`key_order.h`): reads see the writes
/// made through it before. Failure is sticky, as in codec::Reader: a store whose reads can fail
/// remembers the first failure, and asks for it before it makes the writes durable; what was
/// computed in between is thrown away with them, this state included.
class ShardRecords {
  public:
    virtual ~ShardRecords() = default;

    virtual std::optional<RecordHead> head(std::string_view key) = 0;
    /// The highest key below `key`.
    virtual std::optional<std::string> last_below(std::string_view key) = 0;
    virtual void put(std::string key, StoredRecord record) = 0;
    virtual void erase(std::string_view key) = 0;
    /// All keys in [begin, end).
    virtual void erase_range(std::string_view begin, std::string_view end) = 0;

    // A store that outlives its process keeps the sessions too.
    virtual void put_session(SessionId, const Session&) {}
    virtual void erase_session(SessionId) {}
    /// The record ends with the session, or no longer does.
    virtual void link(SessionId, std::string_view) {}
    virtual void unlink(SessionId, std::string_view) {}
};

/// What the next write of a shard takes.
struct ShardCounters {
    std::int64_t offset = 0;   // of the shard's log: every write and every session event takes one
    std::int64_t version = 0;  // every successful put takes one, and so does opening a session
};

class ChangeCollector;

class ShardState {
  public:
    ShardState(ShardId shard, KeyOrder order) : shard_(shard), order_(order) {}
    ShardState(
        ShardId shard, KeyOrder order, ShardCounters counters, std::map<SessionId, Session> sessions
    )
        : shard_(shard), order_(order), counters_(counters), sessions_(std::move(sessions)) {}

    struct Written {
        ShardBatchDone done;
        ChangeBatch changes;
    };

    /// Apply a batch: puts, then deletes, then ranges; each sees what the earlier ones did, and a
    /// refused one changes nothing. Precondition: `validate` accepted it.
    Written write(ShardRecords& records, ShardBatch batch, WallTime now);

    struct SessionOpened {
        SessionId id;
        ChangeBatch changes;  // none, at an offset
    };

    /// A new session; its id is the log's offset, or `id` for a session that spans several shards.
    SessionOpened open_session(
        ShardRecords& records,
        Duration timeout,
        std::string identity,
        std::optional<SessionId> id = std::nullopt
    );
    /// End a session and delete its records. `not_found`.
    Result<ChangeBatch> close_session(ShardRecords& records, SessionId id);

    ShardCounters counters() const noexcept { return counters_; }
    const std::map<SessionId, Session>& sessions() const noexcept { return sessions_; }

  private:
    struct Target {
        std::string key;
        std::string encoded;
        std::optional<RecordHead> replaced;
        std::optional<SequenceNumbers> numbers;  // of a sequence whose highest key is now this
    };

    // Looks strings up by view.
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>{}(text);
        }
    };

    Result<PutDone> apply_put(
        ShardRecords& records, Put put, WallTime now, ChangeCollector& changes
    );
    Status apply_delete(ShardRecords& records, const Delete& request, ChangeCollector& changes);
    void apply_range(ShardRecords& records, const DeleteRange& range, ChangeCollector& changes);
    Result<Target> plain_target(ShardRecords& records, Put& put);
    Result<Target> sequence_target(ShardRecords& records, const Put& put);
    std::string highest_of_sequence(ShardRecords& records, std::string_view prefix) const;
    void remember_sequence(const std::string& prefix, SequenceNumbers numbers);
    void forget_sequences(
        std::string_view key, std::optional<std::string_view> kept = std::nullopt
    );
    void link(ShardRecords& records, SessionId session, const std::string& encoded);
    void unlink(ShardRecords& records, SessionId session, std::string_view encoded);

    ShardId shard_;
    KeyOrder order_;
    ShardCounters counters_;
    std::map<SessionId, Session> sessions_;
    // The numbers of recent sequences, so that an append to a log needs no look-up. Only those
    // whose highest key is one made here: whatever comes between it and the sequence's end begins
    // with "prefix-", and such a write drops the prefix.
    std::unordered_map<std::string, SequenceNumbers, TextHash, std::equal_to<>> sequences_;
};

}  // namespace lakestream::meta
