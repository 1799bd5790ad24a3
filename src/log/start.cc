// SPDX-License-Identifier: Apache-2.0
// Reading and raising starts.
#include "log/start.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "base/format.h"
#include "index/key.h"
#include "log/index_scan.h"
#include "log/index_value.h"

namespace lakestream::log {

namespace {

constexpr int attempts_max = 10;

struct Stored {
    Offset offset;
    meta::Expect expect = meta::Expect::absent();
};

rt::Task<Result<Stored>> load(meta::MetadataStore& store, LogId log, std::string key) {
    const auto found =
        LKS_CO_TRY(co_await find_record(store, std::move(key), index::partition_key(log)));
    if (!found.has_value()) {
        co_return Stored{};
    }
    co_return Stored{
        LKS_CO_TRY(index::parse_mark(found->value)), meta::Expect::at(found->version.id)
    };
}

/// The record grows to `to`; a conflict is answered by another look. Where it stands then.
rt::Task<Result<Offset>> raise(meta::MetadataStore& store, LogId log, std::string key, Offset to) {
    for (int i = 0; i < attempts_max; ++i) {
        const Stored stored = LKS_CO_TRY(co_await load(store, log, key));
        if (stored.offset >= to) {
            co_return stored.offset;
        }
        const auto put = co_await meta::put(
            store,
            {.key = key,
             .value = Bytes::own(std::to_string(to.v)),
             .expect = stored.expect,
             .partition_key = index::partition_key(log)}
        );
        if (put.ok()) {
            co_return to;
        }
        if (!put.is(ErrorCode::conflict)) {
            co_return put.error();
        }
    }
    co_return conflict("log {}: {} is changed by others all the time", log, key);
}

/// Where other engines begin to read: the last index record stays.
rt::Task<Result<Offset>> mark_of(meta::MetadataStore& store, LogId log, Offset start) {
    const auto last = co_await store.get({
        .key = index::bound_last(log),
        .comparison = meta::Comparison::floor,
        .partition_key = index::partition_key(log),
    });
    if (!last.ok() && !last.is(ErrorCode::not_found)) {
        co_return last.error();
    }
    if (!last.ok() || !index::parse_key(log, last->key).ok()) {
        co_return Offset(0);
    }
    const WalkRecord record = LKS_CO_TRY(to_walk_record(log, *last));
    co_return std::min(start, record.range.begin);
}

std::optional<LogId> number_behind(std::string_view prefix, std::string_view key) {
    std::int64_t log = 0;
    if (!key.starts_with(prefix)) {
        return std::nullopt;
    }
    const char* const end = key.data() + key.size();
    const auto [stopped, error] = std::from_chars(key.data() + prefix.size(), end, log);
    return error == std::errc() && stopped == end ? std::optional(LogId(log)) : std::nullopt;
}

}  // namespace

rt::Task<Result<Offset>> load_start(meta::MetadataStore& store, LogId log) {
    const Stored ours = LKS_CO_TRY(co_await load(store, log, start_key(log)));
    const Stored theirs = LKS_CO_TRY(co_await load(store, log, index::mark_key(log)));
    co_return std::max(ours.offset, theirs.offset);
}

rt::Task<Result<Offset>> raise_start(meta::MetadataStore& store, LogId log, Offset start) {
    const Offset now = LKS_CO_TRY(co_await raise(store, log, start_key(log), start));
    const Offset mark = LKS_CO_TRY(co_await mark_of(store, log, now));
    LKS_CO_TRY(co_await raise(store, log, index::mark_key(log), mark));
    co_return now;
}

std::optional<LogId> trimmed_log(std::string_view key) {
    const auto ours = number_behind("/lks/start/", key);
    return ours.has_value() ? ours : number_behind("/mark-deleted-offsets/", key);
}

}  // namespace lakestream::log
