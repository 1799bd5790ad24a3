// SPDX-License-Identifier: Apache-2.0
// A look at the oldest index record tells for most logs that nothing expires.
#include "clean/retainer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "index/key.h"
#include "log/index_scan.h"
#include "log/index_value.h"
#include "log/start.h"

namespace lakestream::clean {

namespace {

/// Index records of one log that may expire at once; the rest follows next time.
constexpr std::size_t records_max = 200'000;

}  // namespace

rt::Task<Status> Retainer::apply(const rt::StopSource& stop) {
    rt::Executor& executor = co_await rt::this_executor();
    const auto streams = LKS_CO_TRY(co_await seams_.catalog.list(settings_.ns));
    for (const catalog::StreamPtr& stream : streams) {
        const RetentionPolicy policy = retention_of(stream->properties, settings_);
        if (policy.keeps_all()) {
            continue;
        }
        for (const LogId log : stream->logs) {
            if (stop.requested()) {
                co_return cancelled("the node is stopping");
            }
            const Status applied = co_await apply_to(log, policy);
            if (!applied.ok() && !applied.is(ErrorCode::not_found)) {
                metrics_.failures.add();
                log::warn("clean", "retention_failed log={} error={}", log, applied.error());
            }
        }
    }
    metrics_.retention.note(executor.now());
    co_return Status();
}

rt::Task<Status> Retainer::apply_to(LogId log, RetentionPolicy policy) {
    rt::Executor& executor = co_await rt::this_executor();
    const std::string partition = index::partition_key(log);
    const Offset start = LKS_CO_TRY(co_await log::load_start(seams_.metadata, log));
    const auto first = co_await seams_.metadata.get({
        .key = index::bound_after(log, start),
        .comparison = meta::Comparison::higher,
        .partition_key = partition,
    });
    if (first.is(ErrorCode::not_found) || (first.ok() && !index::parse_key(log, first->key).ok())) {
        co_return Status();  // nothing is kept
    }
    if (!first.ok()) {
        co_return first.error();
    }
    const auto oldest = LKS_CO_TRY(log::to_walk_record(log, *first));
    std::int64_t total = 0;
    if (policy.bytes.has_value()) {
        const auto last = LKS_CO_TRY(co_await seams_.metadata.get({
            .key = index::bound_last(log),
            .comparison = meta::Comparison::floor,
            .partition_key = partition,
        }));
        total = LKS_CO_TRY(index::parse_key(log, last.key)).cumulative;
    }
    const Expiry expiry(policy, executor.clock().wall_now(), total);
    if (!expiry.expires(oldest)) {
        co_return Status();
    }
    Offset to = oldest.range.end;
    std::size_t seen = 0;
    log::IndexScan scan(seams_.metadata, log, to, std::nullopt);
    for (bool more = true; more && seen < records_max;) {
        const auto records = LKS_CO_TRY(co_await scan.next());
        more = !records.empty();
        for (const meta::Record& record : records) {
            const auto one = LKS_CO_TRY(log::to_walk_record(log, record));
            ++seen;
            more = more && one.range.begin <= to && expiry.expires(one);
            if (!more) {
                break;
            }
            to = one.range.end;
        }
    }
    // What this node has folded is the high watermark; the rest follows next time.
    auto bounds = co_await seams_.engine.bounds({log});
    const log::LogBounds now = LKS_CO_TRY(std::move(bounds.front()));
    to = std::min(to, now.high_watermark);
    if (to > now.start) {
        LKS_CO_TRY(co_await seams_.engine.trim(log, to));
        metrics_.trims.add();
        log::info("clean", "retention_trims log={} start={} was={}", log, to, now.start);
    }
    co_return Status();
}

}  // namespace lakestream::clean
