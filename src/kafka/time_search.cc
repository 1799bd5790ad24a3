// SPDX-License-Identifier: Apache-2.0
// Walks the entries of the index records that a search by time points to.
#include "kafka/time_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codec/record_batch.h"

namespace lakestream::kafka {

namespace {

constexpr std::uint32_t search_read_bytes = 1 << 20;

}  // namespace

/// The entries of one index record, a piece at a time.
rt::Task<Result<std::vector<log::ReadEntry>>> TimeSearch::read_piece(LogId log, Offset from) {
    if (stopped_) {
        co_return cancelled("the node is stopping");
    }
    std::vector<log::ReadRequest> requests{
        {.log = log, .from = from, .bytes_max = search_read_bytes}
    };
    auto results = co_await engine_.read(std::move(requests));
    auto batch = LKS_CO_TRY(std::move(results.at(0)));
    co_return std::move(batch.entries);
}

/// What `look` gives, which owns what it looks at: a search may end while it runs.
template <class Decode>
rt::Task<Result<std::optional<RecordTime>>> TimeSearch::decode(Decode look) {
    const auto turn = co_await turns_.acquire(1);
    co_return co_await rt::offload(offloader_, std::move(look));
}

/// `best` becomes the latest of it and the records of `range`, and of some behind it: up to the
/// offset that is returned. The first among equals.
rt::Task<Result<Offset>> TimeSearch::look_for_later(
    LogId log, OffsetRange range, std::optional<RecordTime>& best
) {
    Offset from = range.begin;
    while (from < range.end) {
        const auto entries = LKS_CO_TRY(co_await read_piece(log, from));
        if (entries.empty() || entries.back().range.end <= from) {
            break;
        }
        for (const log::ReadEntry& entry : entries) {
            const auto newest = LKS_CO_TRY(codec::newest_timestamp(entry.payload.span()));
            if (entry.is_void || (best.has_value() && newest <= best->timestamp)) {
                continue;
            }
            const auto found =
                LKS_CO_TRY(co_await decode([entry] { return latest_record(entry); }));
            if (found.has_value() && (!best.has_value() || found->timestamp > best->timestamp)) {
                best = found;
            }
        }
        from = entries.back().range.end;
    }
    co_return from;
}

rt::Task<Result<std::optional<RecordTime>>> TimeSearch::find_since(
    LogId log, log::LogBounds bounds, std::int64_t timestamp
) {
    Offset from = bounds.start;
    while (from < bounds.high_watermark) {
        const auto hint = LKS_CO_TRY(co_await engine_.find_timestamp(log, timestamp, from));
        if (!hint.has_value() || hint->range.end <= from) {
            co_return std::optional<RecordTime>();
        }
        from = std::max(from, hint->range.begin);
        while (from < hint->range.end) {
            const auto entries = LKS_CO_TRY(co_await read_piece(log, from));
            for (const log::ReadEntry& entry : entries) {
                if (LKS_CO_TRY(codec::newest_timestamp(entry.payload.span())) < timestamp) {
                    continue;
                }
                const auto found = LKS_CO_TRY(co_await decode([entry, from, timestamp] {
                    return first_since(entry, from, timestamp);
                }));
                if (found.has_value()) {
                    co_return found;
                }
            }
            if (entries.empty() || entries.back().range.end <= from) {
                co_return std::optional<RecordTime>();
            }
            from = entries.back().range.end;
        }
    }
    co_return std::optional<RecordTime>();
}

rt::Task<Result<std::optional<RecordTime>>> TimeSearch::find_latest(LogId log, Offset start) {
    const auto hints = LKS_CO_TRY(co_await engine_.find_max_timestamp(log));
    std::optional<RecordTime> best;
    Offset from = start;
    for (const log::TimestampHint& hint : hints) {
        const OffsetRange range{std::max(hint.range.begin, from), hint.range.end};
        from = std::max(from, LKS_CO_TRY(co_await look_for_later(log, range, best)));
    }
    co_return best;
}

}  // namespace lakestream::kafka
