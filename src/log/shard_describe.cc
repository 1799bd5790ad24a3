// SPDX-License-Identifier: Apache-2.0
// What a log holds, for those who watch over it: its size, and who writes to it.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "index/key.h"
#include "log/index_value.h"
#include "log/shard.h"

namespace lakestream::log {

/// One of the log's index records. Errors: `not_found`.
rt::Task<Result<WalkRecord>> Shard::record_near(
    LogId log, std::string key, meta::Comparison where
) {
    const meta::Record record = LKS_CO_TRY(co_await seams_.metadata.get({
        .key = std::move(key),
        .comparison = where,
        .partition_key = index::partition_key(log),
    }));
    const auto parsed = index::parse_key(log, record.key);
    if (!parsed.ok()) {
        co_return not_found("log {} has no such index record", log);
    }
    co_return to_walk_record(log, record);
}

rt::Task<Result<std::int64_t>> Shard::size(LogId id) {
    const LogBounds here = LKS_CO_TRY(co_await bounds(id));
    if (here.start >= here.high_watermark) {
        co_return 0;
    }
    const auto last = co_await record_near(id, index::bound_last(id), meta::Comparison::lower);
    const auto first =
        co_await record_near(id, index::bound_after(id, here.start), meta::Comparison::higher);
    if (last.is(ErrorCode::not_found) || first.is(ErrorCode::not_found)) {
        co_return 0;  // removed in this moment
    }
    LKS_CO_TRY(last);
    LKS_CO_TRY(first);
    const std::int64_t before = first->cumulative - first->value.entry_size_bytes;
    co_return std::clamp<std::int64_t>(last->cumulative - before, 0, last->cumulative);
}

rt::Task<Result<std::vector<ActiveProducer>>> Shard::producers(LogId id) {
    LKS_CO_TRY(co_await bounds(id));
    const LogPtr kept = log(id);
    std::vector<ActiveProducer> producers;
    producers.reserve(kept->fold.producers.size());
    for (const auto& [producer, state] : kept->fold.producers) {
        producers.push_back({
            .id = producer,
            .epoch = state.epoch,
            .last_sequence = state.batches.empty() ? -1 : state.batches.back().last_sequence,
            .seen = state.seen,
        });
    }
    co_return producers;
}

}  // namespace lakestream::log
