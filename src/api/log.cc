// SPDX-License-Identifier: Apache-2.0
// Appending to and reading one log, over the node's log engine.
#include "lakestream/log.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "api/handles.h"
#include "base/format.h"
#include "kafka/entries.h"
#include "kafka/time_search.h"
#include "rt/offload.h"

namespace lakestream {

namespace {

constexpr std::chrono::milliseconds append_timeout_max = std::chrono::hours(1);
/// Of Kafka's Produce request: every compression is allowed.
constexpr std::int16_t newest_produce_version = std::numeric_limits<std::int16_t>::max();

Timestamp to_public(WallTime time) {
    return Timestamp(time.time_since_epoch());
}

LogBounds to_public(const log::LogBounds& bounds) {
    return {.start = bounds.start, .high_watermark = bounds.high_watermark};
}

rt::Task<Result<Appended>> append_to(
    api::Core& core, log::AppendRequest request, std::chrono::milliseconds timeout
) {
    const std::int64_t records = request.records;
    std::vector<log::AppendRequest> requests;
    requests.push_back(std::move(request));
    // The engine takes the order of these calls: nothing may be waited for before.
    auto results =
        co_await core.node().engine().append(std::move(requests), core.executor().now() + timeout);
    const log::Appended appended = LKS_CO_TRY(std::move(results.front()));
    co_return Appended{
        .range = {appended.offset, appended.offset + records}, .duplicate = appended.duplicate
    };
}

rt::Task<Result<ReadBatch>> read_from(api::Core& core, LogId log, Offset from, ReadLimits limits) {
    if (limits.records_max == 0 || limits.bytes_max == 0) {
        co_return invalid_argument("a read of at most 0 records or bytes");
    }
    std::vector<log::ReadRequest> requests{{.log = log, .from = from, .bytes_max = limits.bytes_max}
    };
    auto results = co_await core.node().engine().read(std::move(requests));
    log::ReadBatch read = LKS_CO_TRY(std::move(results.front()));
    ReadBatch batch{.entries = {}, .next = from, .bounds = to_public(read.bounds)};
    std::int64_t records = 0;
    for (log::ReadEntry& entry : read.entries) {
        records += entry.is_void ? 0 : entry.range.count();
        if (!entry.is_void && !batch.entries.empty() && records > limits.records_max) {
            break;
        }
        batch.next = entry.range.end;
        if (!entry.is_void) {
            batch.entries.push_back({
                .range = entry.range,
                .written = to_public(entry.created),
                .payload = std::move(entry.payload),
            });
        }
    }
    co_return batch;
}

Result<std::vector<StoredRecord>> decode(const ReadBatch& batch, Offset from) {
    std::vector<StoredRecord> records;
    for (const Entry& entry : batch.entries) {
        auto inside = read_batch(entry.payload, entry.range.begin);
        if (!inside.ok()) {
            return std::move(inside.error())
                .with_context(fmt::format("entry at offset {}", entry.range.begin.v));
        }
        std::ranges::move(*inside, std::back_inserter(records));
    }
    std::erase_if(records, [from](const StoredRecord& record) { return record.offset < from; });
    return records;
}

rt::Task<Result<std::vector<StoredRecord>>> read_records_from(
    api::Core& core, LogId log, Offset from, ReadLimits limits
) {
    const ReadBatch batch = LKS_CO_TRY(co_await read_from(core, log, from, limits));
    co_return co_await rt::offload(core.node().seams().offloader, [batch, from] {
        return decode(batch, from);
    });
}

rt::Task<Result<LogBounds>> bounds_of(api::Core& core, LogId log) {
    auto results = co_await core.node().engine().bounds({log});
    co_return to_public(LKS_CO_TRY(std::move(results.front())));
}

rt::Task<Result<std::optional<RecordPlace>>> find_in(api::Core& core, LogId log, Timestamp time) {
    log::Engine& engine = core.node().engine();
    auto results = co_await engine.bounds({log});
    const log::LogBounds bounds = LKS_CO_TRY(std::move(results.front()));
    kafka::TimeSearch search(engine, core.node().seams().offloader);
    const auto found =
        LKS_CO_TRY(co_await search.find_since(log, bounds, time.time_since_epoch().count()));
    if (!found.has_value()) {
        co_return std::optional<RecordPlace>();
    }
    co_return RecordPlace{
        .offset = found->offset, .timestamp = Timestamp(std::chrono::milliseconds(found->timestamp))
    };
}

rt::Task<Result<Offset>> trim_to(api::Core& core, LogId log, Offset start) {
    const auto bounds = LKS_CO_TRY(co_await core.node().engine().trim(log, start));
    co_return bounds.start;
}

rt::Task<Result<Waited>> wait_for_append(
    api::Core& core, LogId log, Offset seen, std::chrono::milliseconds timeout
) {
    rt::Executor& executor = co_await rt::this_executor();
    const Deadline deadline = executor.now() + std::min<Duration>(timeout, api::wait_max);
    while (!core.closing()) {
        const Deadline until = std::min(deadline, executor.now() + api::closing_tick);
        if (co_await core.node().engine().wait_append({{.log = log, .seen = seen}}, until)) {
            co_return Waited::appended;
        }
        if (executor.now() >= deadline) {
            co_return Waited::timed_out;
        }
    }
    co_return api::closed_error();
}

}  // namespace

LogId Log::id() const noexcept {
    return handle_->id;
}

Future<Appended> Log::append(std::span<const Record> records, const AppendOptions& options) {
    std::vector<Record> dated(records.begin(), records.end());
    const Timestamp now = to_public(handle_->core->now());
    for (Record& record : dated) {
        record.timestamp = record.timestamp.value_or(now);
    }
    Result<Bytes> batch = make_batch(dated, options.compression);
    if (!batch.ok()) {
        return Future<Appended>::ready(std::move(batch).error());
    }
    return append_entry(static_cast<std::uint32_t>(records.size()), *std::move(batch), options);
}

Future<Appended> Log::append_entry(
    std::uint32_t records, Bytes payload, const AppendOptions& options
) {
    if (options.timeout.count() < 1 || options.timeout > append_timeout_max) {
        return Future<Appended>::ready(invalid_argument(
            "an append's timeout is {} ms; 1 to {} are allowed",
            options.timeout.count(),
            append_timeout_max.count()
        ));
    }
    auto request = kafka::entry_of_records(
        payload, handle_->stream->properties, newest_produce_version, handle_->core->now()
    );
    if (!request.has_value()) {
        return Future<Appended>::ready(invalid_argument("{}", request.error().message));
    }
    if (static_cast<std::uint32_t>(request->records) != records) {
        return Future<Appended>::ready(invalid_argument(
            "the batch holds {} records, the caller says {}", request->records, records
        ));
    }
    request->log = handle_->id;
    return handle_->core->call(
        append_to(*handle_->core, *std::move(request), options.timeout), handle_->id
    );
}

Future<ReadBatch> Log::read(Offset from, const ReadLimits& limits) {
    return handle_->core->call(read_from(*handle_->core, handle_->id, from, limits), handle_->id);
}

Future<std::vector<StoredRecord>> Log::read_records(Offset from, const ReadLimits& limits) {
    return handle_->core->call(
        read_records_from(*handle_->core, handle_->id, from, limits), handle_->id
    );
}

Future<LogBounds> Log::bounds() {
    return handle_->core->call(bounds_of(*handle_->core, handle_->id), handle_->id);
}

Future<std::optional<RecordPlace>> Log::find_time(Timestamp time) {
    return handle_->core->call(find_in(*handle_->core, handle_->id, time), handle_->id);
}

Future<Offset> Log::trim(Offset start) {
    return handle_->core->call(trim_to(*handle_->core, handle_->id, start), handle_->id);
}

Future<Waited> Log::wait_append(Offset seen, std::chrono::milliseconds timeout) {
    return handle_->core->call(
        wait_for_append(*handle_->core, handle_->id, seen, timeout), handle_->id
    );
}

}  // namespace lakestream
