// SPDX-License-Identifier: Apache-2.0
// The rules of puts, deletes, ranges and sessions.
#include "meta/shard_state.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/result.h"
#include "meta/key_order.h"

namespace lakestream::meta {

namespace {

// At about 100 bytes each; a node appends to fewer logs at a time.
constexpr std::size_t sequences_max = 100'000;

bool meets(Expect expect, const std::optional<RecordHead>& existing) {
    if (!expect.version.has_value()) {
        return true;
    }
    if (*expect.version == *Expect::absent().version) {
        return !existing.has_value();
    }
    return existing.has_value() && existing->id == *expect.version;
}

Error wrong_version(std::string_view key, const std::optional<RecordHead>& existing) {
    if (!existing.has_value()) {
        return conflict("'{}' does not exist", key);
    }
    return conflict("'{}' exists in version {}", key, existing->id.v);
}

// Stored keys were encoded here, or checked when they were read from a disk.
std::string decode_stored_key(KeyOrder order, std::string_view encoded) {
    auto key = decode_key(order, encoded);
    LKS_ASSERT(key.ok());
    return std::move(*key);
}

}  // namespace

/// The changes of one write: one for each key, the last one counts.
class ChangeCollector {
  public:
    void add(Change change) { changes_.push_back(std::move(change)); }

    ChangeBatch finish(ShardId shard, std::int64_t offset) && {
        std::vector<std::size_t> order(changes_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, [this](std::size_t a, std::size_t b) {
            const auto by_key = changes_[a].key <=> changes_[b].key;
            return by_key == 0 ? a < b : by_key < 0;
        });
        ChangeBatch batch{.shard = shard, .offset = offset, .changes = {}};
        batch.changes.reserve(order.size());
        for (const std::size_t i : order) {
            if (!batch.changes.empty() && batch.changes.back().key == changes_[i].key) {
                batch.changes.back() = std::move(changes_[i]);
            } else {
                batch.changes.push_back(std::move(changes_[i]));
            }
        }
        return batch;
    }

  private:
    std::vector<Change> changes_;
};

ShardState::Written ShardState::write(ShardRecords& records, ShardBatch batch, WallTime now) {
    ChangeCollector changes;
    ShardBatchDone done;
    done.puts.reserve(batch.puts.size());
    for (Put& put : batch.puts) {
        done.puts.push_back(apply_put(records, std::move(put), now, changes));
    }
    done.deletes.reserve(batch.deletes.size());
    for (const Delete& request : batch.deletes) {
        done.deletes.push_back(apply_delete(records, request, changes));
    }
    for (const DeleteRange& range : batch.ranges) {
        apply_range(records, range, changes);
    }
    return {
        .done = std::move(done),
        .changes = std::move(changes).finish(shard_, counters_.offset++),
    };
}

Result<PutDone> ShardState::apply_put(
    ShardRecords& records, Put put, WallTime now, ChangeCollector& changes
) {
    const bool sequence = !put.sequence_deltas.empty();
    Target target = LKS_TRY(sequence ? sequence_target(records, put) : plain_target(records, put));
    if (put.session.has_value() && !sessions_.contains(*put.session)) {
        return lease_lost("session {} does not exist", put.session->v);
    }
    const bool highest = target.numbers.has_value();
    forget_sequences(target.key, highest ? std::optional<std::string_view>(put.key) : std::nullopt);
    const auto& replaced = target.replaced;
    if (replaced.has_value() && replaced->session.has_value()) {
        unlink(records, *replaced->session, target.encoded);
    }
    // A key that a sequence put happens to overwrite counts as new, as in the servers.
    const bool created = sequence || !replaced.has_value();
    Version version{
        .id = VersionId(counters_.version++),
        .modifications = created ? 0 : replaced->modifications + 1,
        .created = created ? now : replaced->created,
        .modified = now,
        .session = put.session,
        .identity = std::move(put.identity),
    };
    if (put.session.has_value()) {
        link(records, *put.session, target.encoded);
    }
    if (highest) {
        remember_sequence(put.key, std::move(*target.numbers));
    }
    changes.add({
        .kind = created ? ChangeKind::created : ChangeKind::modified,
        .key = target.key,
        .range_end = {},
        .version = version.id,
    });
    records.put(
        std::move(target.encoded),
        {.value = std::move(put.value),
         .version = version,
         .partition_key = std::move(put.partition_key)}
    );
    return PutDone{.key = std::move(target.key), .version = std::move(version)};
}

Result<ShardState::Target> ShardState::plain_target(ShardRecords& records, Put& put) {
    std::string encoded = encode_key(order_, put.key);
    std::optional<RecordHead> existing = records.head(encoded);
    if (!meets(put.expect, existing)) {
        return wrong_version(put.key, existing);
    }
    return Target{
        .key = std::move(put.key),
        .encoded = std::move(encoded),
        .replaced = existing,
        .numbers = std::nullopt,
    };
}

Result<ShardState::Target> ShardState::sequence_target(ShardRecords& records, const Put& put) {
    if (!put.partition_key.has_value()) {
        return invalid_argument("a sequence put needs a partition key");
    }
    if (put.expect.version.has_value()) {
        return conflict("a sequence put makes a new key: it cannot expect a version");
    }
    const auto cached = sequences_.find(put.key);
    const bool known = cached != sequences_.end();
    const std::string highest = known ? std::string() : highest_of_sequence(records, put.key);
    const SequenceNumbers current =
        known ? cached->second : LKS_TRY(current_numbers(put.key, highest));
    SequenceNumbers numbers = LKS_TRY(next_numbers(current, put.sequence_deltas));
    std::string key = sequence_key(put.key, numbers);
    std::string encoded = encode_key(order_, key);
    std::optional<RecordHead> replaced;
    bool above_all = true;
    if (!known) {
        // Somebody else's key under the prefix may stand where the new one belongs, or above it.
        replaced = records.head(encoded);
        above_all = compare_keys(order_, highest, key) < 0;
    }
    return Target{
        .key = std::move(key),
        .encoded = std::move(encoded),
        .replaced = replaced,
        .numbers = above_all ? std::optional(std::move(numbers)) : std::nullopt,
    };
}

std::string ShardState::highest_of_sequence(ShardRecords& records, std::string_view prefix) const {
    const auto below = records.last_below(encode_key(order_, sequence_end(prefix)));
    return below.has_value() ? decode_stored_key(order_, *below) : std::string();
}

void ShardState::remember_sequence(const std::string& prefix, SequenceNumbers numbers) {
    if (sequences_.size() >= sequences_max) {
        sequences_.clear();
    }
    sequences_.insert_or_assign(prefix, std::move(numbers));
}

// Those that the key may belong to, but for `kept`.
void ShardState::forget_sequences(std::string_view key, std::optional<std::string_view> kept) {
    for (std::size_t dash = key.find('-'); dash != std::string_view::npos;
         dash = key.find('-', dash + 1)) {
        const auto found = sequences_.find(key.substr(0, dash));
        if (found != sequences_.end() && found->first != kept) {
            sequences_.erase(found);
        }
    }
}

Status ShardState::apply_delete(
    ShardRecords& records, const Delete& request, ChangeCollector& changes
) {
    const std::string encoded = encode_key(order_, request.key);
    const auto existing = records.head(encoded);
    const bool any_or_absent =
        !request.expect.version.has_value() || *request.expect.version < VersionId(0);
    if (!existing.has_value() && any_or_absent) {
        return not_found("'{}' does not exist", request.key);
    }
    if (!meets(request.expect, existing)) {
        return wrong_version(request.key, existing);
    }
    if (existing->session.has_value()) {
        unlink(records, *existing->session, encoded);
    }
    forget_sequences(request.key);
    records.erase(encoded);
    changes.add({
        .kind = ChangeKind::deleted,
        .key = request.key,
        .range_end = {},
        .version = std::nullopt,
    });
    return {};
}

void ShardState::apply_range(
    ShardRecords& records, const DeleteRange& range, ChangeCollector& changes
) {
    const std::string begin = encode_key(order_, range.begin);
    const std::string end = encode_key(order_, range.end);
    if (begin < end) {
        for (auto& [id, session] : sessions_) {
            auto key = session.keys.lower_bound(begin);
            while (key != session.keys.end() && *key < end) {
                records.unlink(id, *key);
                key = session.keys.erase(key);
            }
        }
        sequences_.clear();
        records.erase_range(begin, end);
    }
    changes.add({
        .kind = ChangeKind::range_deleted,
        .key = range.begin,
        .range_end = range.end,
        .version = std::nullopt,
    });
}

ShardState::SessionOpened ShardState::open_session(
    ShardRecords& records, Duration timeout, std::string identity, std::optional<SessionId> id
) {
    const std::int64_t offset = counters_.offset++;
    ++counters_.version;
    const SessionId opened = id.value_or(SessionId(offset));
    const auto [session, fresh] = sessions_.try_emplace(
        opened, Session{.timeout = timeout, .identity = std::move(identity), .keys = {}}
    );
    LKS_ASSERT(fresh);
    records.put_session(opened, session->second);
    return {.id = opened, .changes = {.shard = shard_, .offset = offset, .changes = {}}};
}

Result<ChangeBatch> ShardState::close_session(ShardRecords& records, SessionId id) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) {
        return not_found("session {} does not exist", id.v);
    }
    ChangeCollector changes;
    for (const std::string& encoded : found->second.keys) {
        const std::string key = decode_stored_key(order_, encoded);
        forget_sequences(key);
        records.unlink(id, encoded);
        records.erase(encoded);
        changes.add({
            .kind = ChangeKind::deleted,
            .key = key,
            .range_end = {},
            .version = std::nullopt,
        });
    }
    sessions_.erase(found);
    records.erase_session(id);
    return std::move(changes).finish(shard_, counters_.offset++);
}

void ShardState::link(ShardRecords& records, SessionId session, const std::string& encoded) {
    sessions_.at(session).keys.insert(encoded);
    records.link(session, encoded);
}

void ShardState::unlink(ShardRecords& records, SessionId session, std::string_view encoded) {
    if (const auto found = sessions_.find(session); found != sessions_.end()) {
        auto& keys = found->second.keys;
        if (const auto key = keys.find(encoded); key != keys.end()) {
            keys.erase(key);
        }
    }
    records.unlink(session, encoded);
}

}  // namespace lakestream::meta
