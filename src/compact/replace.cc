// SPDX-License-Identifier: Apache-2.0
// The four steps of docs/protocols/compaction.md.
#include "compact/replace.h"

#include <string>
#include <utility>
#include <vector>

#include "base/endian.h"
#include "base/format.h"
#include "codec/base64.h"
#include "codec/writer.h"
#include "index/key.h"
#include "index/record.h"

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
    meta::MetadataStore& store, LogId log, const Intent& intent, const meta::Record& last
) {
    const auto value = LKS_CO_TRY(index::IndexRecord::decode(last.value));
    if (value.file_type == index::FileType::parquet) {
        if (value.location == intent.location) {
            co_return Status();  // an earlier attempt got this far
        }
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

/// Step 3: the cursor moves; then the mark that other engines read.
rt::Task<Status> move_cursor(meta::MetadataStore& store, LogId log, const StoredState& from) {
    const Offset end = from.state.intent->range.end;
    LKS_CO_TRY(co_await meta::put(
        store,
        {.key = state_key(log),
         .value = encode_state({.cursor = end, .intent = {}}),
         .expect = meta::Expect::at(*from.version),
         .partition_key = index::partition_key(log)}
    ));
    const auto marked = co_await meta::put(
        store,
        {.key = fmt::format("/first-uncompacted-offset/{}", log),
         .value = Bytes::own(std::to_string(end.v))}
    );
    co_return marked.ok() ? Status() : Status(marked.error());
}

}  // namespace

Bytes compacted_value(const Intent& intent) {
    return index::IndexRecord{
        .location = intent.location,
        .file_type = index::FileType::parquet,
        .index_type = index::IndexType::compact,
        .message_count = static_cast<std::int32_t>(intent.range.count()),
        .entry_size_bytes = intent.payload_bytes,
        .file_size = intent.payload_bytes,
        .offset_in_file = 0,
        .entry_count = 1,
        .extra = {{"CompactedObjectFileIndex", file_index(intent)}},
    }
        .encode();
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
    LKS_ASSERT(!from.state.intent.has_value() && intent.range.begin == from.state.cursor);
    StoredState next{
        .state = {.cursor = from.state.cursor, .intent = std::move(intent)}, .version = {}
    };
    auto put = co_await meta::put(
        store,
        {.key = state_key(log),
         .value = encode_state(next.state),
         .expect =
             from.version.has_value() ? meta::Expect::at(*from.version) : meta::Expect::absent(),
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
    // The record at the end was there when the intent was made, and replaced it stays. A scan that
    // does not find it ended early, as a stale leader's does: nothing may be concluded from it.
    const auto last = records.empty() ? Result<index::IndexKey>(not_found("no record"))
                                      : index::parse_key(log, records.back().key);
    if (!last.ok() || last->end != intent.range.end) {
        co_return unavailable(
            "log {}: the index records up to {} are not all seen", log, intent.range.end
        );
    }
    LKS_CO_TRY(co_await put_compacted(store, log, intent, records.back()));
    records.pop_back();
    LKS_CO_TRY(co_await delete_replaced(store, log, std::move(records)));
    co_return co_await move_cursor(store, log, from);
}

}  // namespace lakestream::compact
