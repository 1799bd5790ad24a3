// SPDX-License-Identifier: Apache-2.0
// Walks the entries of the index records that a search by time points to.
#include "kafka/time_search.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lakestream::kafka {

namespace {

constexpr std::uint32_t search_read_bytes = 1 << 20;

/// The entries of one index record, a piece at a time.
rt::Task<Result<std::vector<log::ReadEntry>>> read_piece(
    log::Engine& engine, LogId log, Offset from
) {
    std::vector<log::ReadRequest> requests{
        {.log = log, .from = from, .bytes_max = search_read_bytes}
    };
    auto results = co_await engine.read(std::move(requests));
    auto batch = LKS_CO_TRY(std::move(results.at(0)));
    co_return std::move(batch.entries);
}

/// What `look` gives, when it is this search's turn.
template <class Look>
rt::Task<Result<std::optional<RecordTime>>> in_turn(rt::Semaphore& turns, Look look) {
    const auto turn = co_await turns.acquire(1);
    auto found = look();
    co_await rt::yield();
    co_return std::move(found);
}

/// `best` becomes the latest of it and the records of `range`, the first among equals.
rt::Task<Status> look_for_later(
    log::Engine& engine,
    rt::Semaphore& turns,
    LogId log,
    OffsetRange range,
    std::optional<RecordTime>& best
) {
    for (Offset from = range.begin; from < range.end;) {
        const auto entries = LKS_CO_TRY(co_await read_piece(engine, log, from));
        if (entries.empty() || entries.back().range.end <= from) {
            break;
        }
        for (const log::ReadEntry& entry : entries) {
            const auto found =
                LKS_CO_TRY(co_await in_turn(turns, [&] { return latest_record(entry); }));
            if (found.has_value() && (!best.has_value() || found->timestamp > best->timestamp)) {
                best = found;
            }
        }
        from = entries.back().range.end;
    }
    co_return Status();
}

}  // namespace

rt::Task<Result<std::optional<RecordTime>>> find_since(
    log::Engine& engine,
    rt::Semaphore& turns,
    LogId log,
    log::LogBounds bounds,
    std::int64_t timestamp
) {
    Offset from = bounds.start;
    while (from < bounds.high_watermark) {
        const auto hint = LKS_CO_TRY(co_await engine.find_timestamp(log, timestamp, from));
        if (!hint.has_value() || hint->range.end <= from) {
            co_return std::optional<RecordTime>();
        }
        from = std::max(from, hint->range.begin);
        while (from < hint->range.end) {
            const auto entries = LKS_CO_TRY(co_await read_piece(engine, log, from));
            for (const log::ReadEntry& entry : entries) {
                const auto found = LKS_CO_TRY(co_await in_turn(turns, [&] {
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

rt::Task<Result<std::optional<RecordTime>>> find_latest_record(
    log::Engine& engine, rt::Semaphore& turns, LogId log, Offset start
) {
    const auto hints = LKS_CO_TRY(co_await engine.find_max_timestamp(log));
    std::optional<RecordTime> best;
    for (const log::TimestampHint& hint : hints) {
        const OffsetRange range{std::max(hint.range.begin, start), hint.range.end};
        LKS_CO_TRY(co_await look_for_later(engine, turns, log, range, best));
    }
    co_return best;
}

}  // namespace lakestream::kafka
