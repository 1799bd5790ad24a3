// SPDX-License-Identifier: Apache-2.0
// FakeEngine: logs in memory, for tests and benchmarks of handlers.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "codec/crc32c.h"
#include "log/engine.h"
#include "rt/signal.h"

namespace lakestream::kafka::testing {

/// One executor only. Entries are durable as soon as they are appended, or when `release` is called
/// while `hold_appends` is set. A voided entry is written with `add_void`.
class FakeEngine final : public log::Engine {
  public:
    bool hold_appends = false;
    std::optional<Error> append_error;  // answers every append
    std::optional<Error> read_error;    // answers every read
    std::size_t entries_per_read_max = 1000;
    std::size_t read_bytes_last = 0;  // of the newest call of `read`, all logs
    std::size_t entries_read = 0;     // by all calls of `read`
    Deadline append_deadline{};       // of the newest append
    std::vector<log::AppendRequest> appended;

    void release() {
        for (auto& held : std::exchange(held_, {})) {
            held.first.set(std::move(held.second));
        }
    }

    std::size_t held() const { return held_.size(); }

    void add_void(LogId id, std::int64_t count) {
        Log& log = logs_[id];
        log.entries.push_back({.range = {log.end, log.end + count}, .payload = {}, .is_void = true}
        );
        log.end = log.end + count;
        log.records.push_back({log.entries.back().range, -1});
        appended_.notify_all();
    }

    void trim(LogId id, Offset start) {
        Log& log = logs_[id];
        log.start = start;
        while (!log.entries.empty() && log.entries.front().range.end <= start) {
            log.entries.erase(log.entries.begin());
        }
        std::erase_if(log.records, [&](const Record& record) { return record.range.end <= start; });
    }

    /// From now on one index record stands for `count` that were there, from the `first` on. Its
    /// newest timestamp is known, or is not.
    void compact(LogId id, std::size_t first, std::size_t count, bool known) {
        std::vector<Record>& records = logs_[id].records;
        const auto begin = records.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = begin + static_cast<std::ptrdiff_t>(count);
        Record compacted{{begin->range.begin, std::prev(end)->range.end}, std::nullopt};
        if (known) {
            compacted.newest = std::ranges::max_element(begin, end, {}, &Record::newest)->newest;
        }
        *begin = compacted;
        records.erase(std::next(begin), end);
    }

    /// Replace the bytes of an entry that is there.
    void damage(LogId id, std::size_t entry, Bytes payload) {
        logs_[id].entries.at(entry).payload = std::move(payload);
    }

    rt::Future<std::vector<Result<log::Appended>>> append(
        std::vector<log::AppendRequest> requests, Deadline deadline
    ) override {
        append_deadline = deadline;
        std::vector<Result<log::Appended>> results;
        for (log::AppendRequest& request : requests) {
            if (const auto& checked = request.checked) {  // which the real one believes
                const auto bytes = request.payload.span().subspan(checked->begin);
                LKS_ASSERT(codec::crc32c(bytes) == checked->crc32c);
            }
            results.push_back(append_one(request));
            appended.push_back(std::move(request));
        }
        appended_.notify_all();
        if (!hold_appends) {
            return rt::Future<std::vector<Result<log::Appended>>>::ready(std::move(results));
        }
        rt::Promise<std::vector<Result<log::Appended>>> promise;
        auto future = promise.future();
        held_.emplace_back(std::move(promise), std::move(results));
        return future;
    }

    rt::Future<std::vector<Result<log::ReadBatch>>> read(std::vector<log::ReadRequest> requests
    ) override {
        std::vector<Result<log::ReadBatch>> results;
        read_bytes_last = 0;
        for (const log::ReadRequest& request : requests) {
            results.push_back(read_one(request));
        }
        return rt::Future<std::vector<Result<log::ReadBatch>>>::ready(std::move(results));
    }

    rt::Future<std::vector<Result<log::LogBounds>>> bounds(std::vector<LogId> logs) override {
        std::vector<Result<log::LogBounds>> results;
        for (const LogId id : logs) {
            results.emplace_back(log::LogBounds{logs_[id].start, logs_[id].end});
        }
        return rt::Future<std::vector<Result<log::LogBounds>>>::ready(std::move(results));
    }

    rt::Future<std::vector<Result<std::int64_t>>> sizes(std::vector<LogId> logs) override {
        std::vector<Result<std::int64_t>> results;
        for (const LogId id : logs) {
            std::int64_t bytes = 0;
            for (const log::ReadEntry& entry : logs_[id].entries) {
                bytes += static_cast<std::int64_t>(entry.payload.size());
            }
            results.emplace_back(bytes);
        }
        return rt::Future<std::vector<Result<std::int64_t>>>::ready(std::move(results));
    }

    rt::Task<Result<std::vector<log::ActiveProducer>>> producers(LogId id) override {
        std::vector<log::ActiveProducer> active;
        for (const auto& [producer, state] : logs_[id].producers) {
            active.push_back(
                {.id = producer, .epoch = state.epoch, .last_sequence = state.next - 1, .seen = {}}
            );
        }
        co_return active;
    }

    rt::Task<bool> wait_append(std::vector<log::LogPosition> positions, Deadline deadline)
        override {
        while (true) {
            for (const log::LogPosition& position : positions) {
                if (logs_[position.log].end > position.seen) {
                    co_return true;
                }
            }
            if (!co_await appended_.wait(deadline)) {
                co_return false;
            }
        }
    }

    rt::Task<Result<std::optional<log::TimestampHint>>> find_timestamp(
        LogId id, std::int64_t timestamp, Offset from
    ) override {
        for (const Record& record : logs_[id].records) {
            if (record.range.end > from && record.newest.value_or(timestamp) >= timestamp) {
                co_return std::optional(log::TimestampHint{record.range});
            }
        }
        co_return std::optional<log::TimestampHint>();
    }

    rt::Task<Result<std::vector<log::TimestampHint>>> find_max_timestamp(LogId id) override {
        const std::vector<Record>& records = logs_[id].records;
        const auto best = std::ranges::max_element(records, {}, &Record::newest);
        std::vector<log::TimestampHint> hints;
        for (auto record = records.begin(); record != records.end(); ++record) {
            if (record == best || !record->newest.has_value()) {
                hints.push_back({record->range});
            }
        }
        co_return hints;
    }

    rt::Task<Result<log::LogBounds>> trim(LogId id, std::optional<Offset> to) override {
        const Log& log = logs_[id];
        const Offset start = to.value_or(log.end);
        if (start > log.end) {
            co_return out_of_range("offset {}", start.v);
        }
        if (start > log.start) {
            trim(id, start);
        }
        co_return log::LogBounds{log.start, log.end};
    }

    rt::Task<void> fence(LogId) override { co_return; }

  private:
    struct Producer {
        std::int16_t epoch = 0;
        std::int32_t next = 0;
        std::map<std::int32_t, Offset> batches;  // by first sequence
    };

    /// Of the index.
    struct Record {
        OffsetRange range;
        std::optional<std::int64_t> newest;
    };

    struct Log {
        Offset start;
        Offset end;
        std::vector<log::ReadEntry> entries;
        std::vector<Record> records;
        std::map<std::int64_t, Producer> producers;
    };

    static Error with_reason(Error error, log::AppendReason reason) {
        error.reason = static_cast<std::uint16_t>(reason);
        return error;
    }

    Result<log::Appended> append_one(const log::AppendRequest& request) {
        if (append_error.has_value()) {
            return *append_error;
        }
        Log& log = logs_[request.log];
        if (request.producer.has_value()) {
            const log::ProducerStamp& stamp = *request.producer;
            const auto [at, is_new] = log.producers.try_emplace(stamp.id);
            Producer& producer = at->second;
            if (stamp.epoch < producer.epoch) {
                return with_reason(
                    fenced("epoch {}", stamp.epoch), log::AppendReason::invalid_producer_epoch
                );
            }
            if (const auto same = producer.batches.find(stamp.base_sequence);
                same != producer.batches.end()) {
                return log::Appended{.offset = same->second, .created = {}, .duplicate = true};
            }
            if (stamp.base_sequence != producer.next) {
                const auto reason = is_new ? log::AppendReason::unknown_producer_id
                                           : log::AppendReason::out_of_order_sequence;
                if (is_new) {
                    log.producers.erase(at);
                }
                return with_reason(invalid_argument("sequence {}", stamp.base_sequence), reason);
            }
            producer.epoch = stamp.epoch;
            producer.next += request.records;
            producer.batches[stamp.base_sequence] = log.end;
        }
        const Offset offset = log.end;
        log.end = log.end + request.records;
        log.entries.push_back({.range = {offset, log.end}, .payload = request.payload});
        log.records.push_back({{offset, log.end}, request.max_timestamp});
        return log::Appended{.offset = offset, .created = {}};
    }

    Result<log::ReadBatch> read_one(const log::ReadRequest& request) {
        if (read_error.has_value()) {
            return *read_error;
        }
        const Log& log = logs_[request.log];
        if (request.from < log.start || request.from > log.end) {
            return out_of_range("offset {}", request.from.v);
        }
        log::ReadBatch batch{.entries = {}, .bounds = {log.start, log.end}};
        std::size_t bytes = 0;
        for (const log::ReadEntry& entry : log.entries) {
            if (entry.range.end <= request.from) {
                continue;
            }
            bytes += entry.payload.size();
            if (!batch.entries.empty() &&
                (bytes > request.bytes_max || batch.entries.size() >= entries_per_read_max)) {
                break;
            }
            read_bytes_last += entry.payload.size();
            ++entries_read;
            batch.entries.push_back(entry);
        }
        return batch;
    }

    std::map<LogId, Log> logs_;
    rt::Signal appended_;
    std::vector<std::pair<
        rt::Promise<std::vector<Result<log::Appended>>>,
        std::vector<Result<log::Appended>>>>
        held_;
};

}  // namespace lakestream::kafka::testing
