// SPDX-License-Identifier: Apache-2.0
// The four steps of docs/protocols/compaction.md.
#include "compact/replace.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/endian.h"
#include "base/format.h"
#include "catalog/keys.h"
#include "codec/base64.h"
#include "codec/writer.h"
#include "index/key.h"
#include "index/record.h"
#include "log/index_scan.h"
#include "log/index_value.h"
#include "log/start.h"

namespace lakestream::compact {

namespace {

constexpr std::size_t deletes_per_batch = 5000;

/// Repeated {last offset in the file, inclusive; path length; path}, big-endian, as base64.
std::string file_index(const Intent& intent) {
    codec::Writer out;
    out.int64(intent.range.end.v - 1);
    out.int32(static_cast<std::int32_t>(intent.location.size()));
    out.raw(intent.location);
    return codec::base64_encode(out.finish().join().span());
}

/// The log's index records that end in (begin, end].
rt::Task<Result<std::vector<meta::Record>>> records_in(
    meta::MetadataStore& store, LogId log, OffsetRange range
) {
    constexpr std::size_t records_max = 5'000'000;
    co_return co_await meta::read_all(
        store,
        {.begin = index::bound_after(log, range.begin),
         .end = index::bound_after(log, range.end),
         .partition_key = index::partition_key(log)},
        records_max
    );
}

/// Step 1: the record at the end of the range becomes the compacted one.
rt::Task<Status> put_compacted(
    meta::MetadataStore& store, LogId log, const CompactState& state, const meta::Record& last
) {
    const Intent& intent = *state.intent;
    const auto value = LKS_CO_TRY(index::IndexRecord::decode(last.value));
    if (value.file_type == index::FileType::parquet && value.location == intent.location) {
        co_return Status();  // an earlier attempt got this far
    }
    // One of those that a merge is about lies behind its begin.
    const bool is_merged = intent.range.end <= state.cursor &&
                           intent.range.end - value.message_count > intent.range.begin;
    if (value.file_type == index::FileType::parquet && !is_merged) {
        co_return conflict("log {}: {} is compacted by another file", log, last.key);
    }
    auto put = co_await meta::put(
        store,
        {.key = last.key,
         .value = compacted_value(intent),
         .expect = meta::Expect::at(last.version.id),
         .partition_key = index::partition_key(log)}
    );
    co_return put.ok() ? Status() : Status(std::move(put.error()));
}

/// Step 2: every other record of the range goes, each at the version it was read at.
rt::Task<Status> delete_replaced(
    meta::MetadataStore& store, LogId log, std::vector<meta::Record> replaced
) {
    const meta::ShardId shard = store.shard_of(index::partition_key(log));
    for (std::size_t at = 0; at < replaced.size(); at += deletes_per_batch) {
        meta::ShardBatch batch;
        for (std::size_t i = at; i < std::min(replaced.size(), at + deletes_per_batch); ++i) {
            batch.deletes.push_back(
                {.key = replaced[i].key, .expect = meta::Expect::at(replaced[i].version.id)}
            );
        }
        const auto done = LKS_CO_TRY(co_await store.write(shard, std::move(batch)));
        for (const Status& deleted : done.deletes) {
            if (!deleted.ok() && !deleted.is(ErrorCode::not_found)) {
                co_return deleted;
            }
        }
    }
    co_return Status();
}

meta::Expect unchanged(const StoredState& state) {
    return state.version.has_value() ? meta::Expect::at(*state.version) : meta::Expect::absent();
}

/// Step 3: the cursor moves to `end`, but for a merge; then the mark that other engines read.
rt::Task<Status> move_cursor(
    meta::MetadataStore& store, LogId log, const StoredState& from, Offset end
) {
    LKS_CO_TRY(co_await meta::put(
        store,
        {.key = state_key(log),
         .value = encode_state({.cursor = end, .intent = {}}),
         .expect = unchanged(from),
         .partition_key = index::partition_key(log)}
    ));
    if (end == from.state.cursor) {
        co_return Status();
    }
    const auto marked = co_await meta::put(
        store,
        {.key = catalog::keys::first_uncompacted(log), .value = Bytes::own(std::to_string(end.v))}
    );
    co_return marked.ok() ? Status() : Status(marked.error());
}

/// Why no record of the range is seen that the intent is about: of a deleted log none is left, and
/// the state that was written behind the purge goes as well.
rt::Task<Error> explain_unseen(meta::MetadataStore& store, LogId log, const StoredState& state) {
    const std::string partition = index::partition_key(log);
    const auto fence = co_await log::find_record(store, index::fence_key(log), partition);
    if (!fence.ok()) {
        co_return fence.error();
    }
    if (!fence->has_value()) {
        co_return unavailable(
            "log {}: the index records up to {} are not all seen",
            log,
            state.state.intent->range.end
        );
    }
    meta::ShardBatch batch;
    batch.deletes.push_back({.key = state_key(log), .expect = meta::Expect::at(*state.version)});
    const auto removed = co_await store.write(store.shard_of(partition), std::move(batch));
    co_return removed.ok() ? fenced("log {} is deleted", log) : removed.error();
}

/// The last boundary between index records that is not beyond `start`.
rt::Task<Result<Offset>> boundary_before(meta::MetadataStore& store, LogId log, Offset start) {
    const auto look = [&](std::string key, meta::Comparison comparison) {
        return store.get(
            {.key = std::move(key),
             .comparison = comparison,
             .partition_key = index::partition_key(log)}
        );
    };
    const auto holds = co_await look(index::bound_after(log, start), meta::Comparison::higher);
    if (holds.ok() && index::parse_key(log, holds->key).ok()) {
        const auto record = LKS_CO_TRY(log::to_walk_record(log, *holds));
        co_return std::min(record.range.begin, start);
    }
    if (!holds.ok() && !holds.is(ErrorCode::not_found)) {
        co_return holds.error();
    }
    const auto last = co_await look(index::bound_after(log, start), meta::Comparison::floor);
    if (!last.ok() && !last.is(ErrorCode::not_found)) {
        co_return last.error();
    }
    const auto key =
        last.ok() ? index::parse_key(log, last->key) : Result<index::IndexKey>(last.error());
    co_return key.ok() ? key->end : Offset(0);
}

}  // namespace

Bytes compacted_value(const Intent& intent) {
    LKS_ASSERT(intent.range.count() <= std::numeric_limits<std::int32_t>::max());
    index::IndexRecord record{
        .location = intent.location,
        .file_type = index::FileType::parquet,
        .index_type = index::IndexType::compact,
        .message_count = static_cast<std::int32_t>(intent.range.count()),
        .entry_size_bytes = intent.payload_bytes,
        .file_size = intent.payload_bytes,
        .offset_in_file = 0,
        .entry_count = 1,
        .extra = {{"CompactedObjectFileIndex", file_index(intent)}},
    };
    if (intent.max_timestamp.has_value()) {
        record.extension =
            index::Extension{.crc32c = intent.voids, .max_timestamp = *intent.max_timestamp};
    }
    return record.encode();
}

rt::Task<Result<StoredState>> load_state(meta::MetadataStore& store, LogId log) {
    auto record =
        co_await store.get({.key = state_key(log), .partition_key = index::partition_key(log)});
    if (record.is(ErrorCode::not_found)) {
        co_return StoredState{};
    }
    const meta::Record found = LKS_CO_TRY(std::move(record));
    co_return StoredState{LKS_CO_TRY(decode_state(found.value)), found.version.id};
}

rt::Task<Result<StoredState>> begin_replace(
    meta::MetadataStore& store, LogId log, StoredState from, Intent intent
) {
    LKS_ASSERT(
        !from.state.intent.has_value() && !intent.range.empty() &&
        (intent.range.begin == from.state.cursor || intent.range.end <= from.state.cursor)
    );
    StoredState next{
        .state = {.cursor = from.state.cursor, .intent = std::move(intent)}, .version = {}
    };
    auto put = co_await meta::put(
        store,
        {.key = state_key(log),
         .value = encode_state(next.state),
         .expect = unchanged(from),
         .partition_key = index::partition_key(log)}
    );
    if (put.is(ErrorCode::outcome_unknown)) {
        // The intent names our files: reading back tells.
        StoredState now = LKS_CO_TRY(co_await load_state(store, log));
        if (now.state == next.state) {
            co_return now;
        }
        co_return conflict("log {}: the compaction state moved", log);
    }
    next.version = LKS_CO_TRY(std::move(put)).version.id;
    co_return next;
}

rt::Task<Status> finish_replace(meta::MetadataStore& store, LogId log, StoredState from) {
    LKS_ASSERT(from.state.intent.has_value() && from.version.has_value());
    const Intent& intent = *from.state.intent;
    std::vector<meta::Record> records = LKS_CO_TRY(co_await records_in(store, log, intent.range));
    // The record at the end was there when the intent was made, and replaced it stays until it is
    // trimmed. A scan that does not find it otherwise ended early, as a stale leader's does:
    // nothing may be concluded from it.
    const auto last = records.empty() ? Result<index::IndexKey>(not_found("no record"))
                                      : index::parse_key(log, records.back().key);
    if (last.ok() && last->end == intent.range.end) {
        LKS_CO_TRY(co_await put_compacted(store, log, from.state, records.back()));
        records.pop_back();
    } else if (LKS_CO_TRY(co_await log::load_start(store, log)) < intent.range.end) {
        co_return co_await explain_unseen(store, log, from);
    }
    LKS_CO_TRY(co_await delete_replaced(store, log, std::move(records)));
    const Offset end = std::max(from.state.cursor, intent.range.end);
    co_return co_await move_cursor(store, log, from, end);
}

rt::Task<Result<StoredState>> skip_trimmed(
    meta::MetadataStore& store, LogId log, StoredState from, Offset start
) {
    LKS_ASSERT(!from.state.intent.has_value());
    if (start <= from.state.cursor) {
        co_return from;
    }
    const Offset to = LKS_CO_TRY(co_await boundary_before(store, log, start));
    if (to <= from.state.cursor) {
        co_return from;
    }
    LKS_CO_TRY(co_await move_cursor(store, log, from, to));
    co_return co_await load_state(store, log);
}

rt::Task<Result<StoredState>> load_finished(meta::MetadataStore& store, LogId log) {
    StoredState state = LKS_CO_TRY(co_await load_state(store, log));
    if (state.state.intent.has_value()) {
        LKS_CO_TRY(co_await finish_replace(store, log, state));
        state = LKS_CO_TRY(co_await load_state(store, log));
        if (state.state.intent.has_value()) {
            co_return conflict("log {}: another compactor goes on", log);
        }
    }
    const Offset start = LKS_CO_TRY(co_await log::load_start(store, log));
    co_return co_await skip_trimmed(store, log, std::move(state), start);
}

}  // namespace lakestream::compact
