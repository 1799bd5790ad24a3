// SPDX-License-Identifier: Apache-2.0
// The order of docs/protocols/cleaning.md: cursor, snapshot, records.
#include "clean/hard_trim.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "compact/replace.h"
#include "index/key.h"
#include "log/index_scan.h"
#include "log/start.h"

namespace lakestream::clean {

namespace {

constexpr std::size_t deletes_per_batch = 1000;

/// The log's record next to a bound, if it is one of this log.
rt::Task<Result<std::optional<index::IndexKey>>> look(
    meta::MetadataStore& store, LogId log, std::string key, meta::Comparison comparison
) {
    const auto found = co_await store.get({
        .key = std::move(key),
        .comparison = comparison,
        .partition_key = index::partition_key(log),
    });
    if (!found.ok() && !found.is(ErrorCode::not_found)) {
        co_return found.error();
    }
    const auto parsed =
        found.ok() ? index::parse_key(log, found->key) : Result<index::IndexKey>(found.error());
    co_return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

rt::Task<Status> remove(
    meta::MetadataStore& store, LogId log, std::vector<meta::Record> records, HardTrimmed& trimmed
) {
    const meta::ShardId shard = store.shard_of(index::partition_key(log));
    for (std::size_t at = 0; at < records.size(); at += deletes_per_batch) {
        meta::ShardBatch batch;
        for (std::size_t i = at; i < std::min(records.size(), at + deletes_per_batch); ++i) {
            batch.deletes.push_back(
                {.key = records[i].key, .expect = meta::Expect::at(records[i].version.id)}
            );
        }
        const auto done = LKS_CO_TRY(co_await store.write(shard, std::move(batch)));
        for (const Status& deleted : done.deletes) {
            trimmed.records += deleted.ok() ? 1 : 0;
            trimmed.complete = trimmed.complete && deleted.ok();  // else a merge has replaced it
        }
    }
    co_return Status();
}

}  // namespace

rt::Task<Result<HardTrimmed>> hard_trim(
    meta::MetadataStore& store, log::CompactionView& view, LogId log
) {
    const Offset start = LKS_CO_TRY(co_await log::load_start(store, log));
    const auto last =
        LKS_CO_TRY(co_await look(store, log, index::bound_last(log), meta::Comparison::floor));
    const auto first =
        LKS_CO_TRY(co_await look(store, log, index::bound_first(log), meta::Comparison::ceiling));
    if (!first.has_value() || !last.has_value() || first->end > start || first->end >= last->end) {
        co_return HardTrimmed{.complete = !last.has_value() || last->end > start};
    }
    // Compactors work behind the cursor; from here on there is none of them.
    const compact::StoredState state = LKS_CO_TRY(co_await compact::load_finished(store, log));
    const OffsetRange nothing{state.state.cursor, state.state.cursor};
    const Offset saved = LKS_CO_TRY(co_await view.checkpoint(log, nothing)).end;
    const Offset wanted = std::min(start, state.state.cursor);
    if (saved < wanted) {
        co_return unavailable("log {}: its fold snapshot ends at {} before {}", log, saved, wanted);
    }
    const Offset end = std::min(wanted, last->end - 1);
    HardTrimmed done{.complete = last->end > start};
    log::IndexScan scan(store, log, Offset(0), end);
    while (true) {
        auto records = LKS_CO_TRY(co_await scan.next());
        if (records.empty()) {
            co_return done;
        }
        LKS_CO_TRY(co_await remove(store, log, std::move(records), done));
    }
}

}  // namespace lakestream::clean
