// SPDX-License-Identifier: Apache-2.0
// Reading what is no longer in memory: through the index, several sections at a time.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "index/key.h"
#include "log/index_scan.h"
#include "log/index_value.h"
#include "log/shard.h"
#include "log/start.h"

namespace lakestream::log {

namespace {

constexpr std::size_t section_reads_max = 8;  // of one read, at once

/// Whether what is stored now says the same; a compacted record may have come in under the key.
bool stays(const meta::Record& stored, const index::IndexRecord& record) {
    const auto value = index::IndexRecord::decode(stored.value);
    return value.ok() && *value == record;
}

/// Which of a raw record's entries are void is known until it has been replaced.
Error compacted_meanwhile(LogId log, OffsetRange range) {
    return conflict(
        "log {}: offsets {} to {} were compacted while reading", log, range.begin, range.end
    );
}

}  // namespace

/// A section on its way from the object store.
struct Shard::Arrival {
    std::optional<Result<SectionDataPtr>> section;
    rt::Signal arrived;
};

bool Shard::Reading::add(ReadEntry entry) {
    const bool joins_void = entry.is_void && !entries.empty() && entries.back().is_void;
    if (!joins_void && !entries.empty() && bytes + entry.payload.size() > bytes_max) {
        full = true;
        return false;
    }
    bytes += entry.payload.size();
    from = entry.range.end;
    if (joins_void) {
        entries.back().range.end = from;
    } else {
        entries.push_back(std::move(entry));
    }
    return true;
}

bool Shard::has_enough(const Reading& reading) const {
    return reading.full ||
           (!reading.entries.empty() &&
            (reading.bytes >= reading.bytes_max || seams_.executor.now() >= reading.patience));
}

rt::Task<Result<ReadBatch>> Shard::read_index(Log& log, ReadRequest request) {
    const LogBounds bounds{log.start, log.fold.end};
    const Deadline deadline = seams_.executor.now() + settings_.damage_patience;
    Duration backoff = settings_.backoff_min;
    while (!scope_.stopping()) {
        Reading reading{
            .from = request.from,
            .bytes_max = request.bytes_max,
            .patience = request.patience,
            .end = bounds.high_watermark,
            .joined = request.from,
            .ahead = {},
            .entries = {},
        };
        const Status done = co_await walk_index(log, reading);
        // What comes before damage is good, and the next read meets the damage.
        if (!reading.entries.empty()) {
            co_return ReadBatch{std::move(reading.entries), bounds};
        }
        if (!done.ok() && !done.is(ErrorCode::conflict)) {
            co_return done.error();
        }
        // Nothing there: the log was deleted or trimmed, a record was just replaced, or a stale
        // leader answers.
        const Error missing =
            corrupt("log {}: no index record holds offset {}", log.id, request.from);
        const Error cause = co_await find_cause(log, missing);
        if (log.fenced) {
            co_return not_found("log {} is deleted", log.id);
        }
        if (log.start > request.from) {
            co_return out_of_range("log {}: it starts at {} now", log.id, log.start);
        }
        if (seams_.executor.now() >= deadline) {
            co_return cause;
        }
        co_await scope_.stop().sleep_until(seams_.executor.now() + backoff);
        backoff = std::min(backoff * 2, settings_.backoff_max);
    }
    co_return cancelled("the node is stopping");
}

rt::Task<Status> Shard::walk_index(Log& log, Reading& reading) {
    IndexScan scan(seams_.metadata, log.id, reading.from, std::nullopt);
    while (!has_enough(reading) && !reading.last) {
        const auto records = LKS_CO_TRY(co_await scan.next());
        auto next = records.begin();
        while (!has_enough(reading)) {
            while (next != records.end() && may_begin(reading)) {
                LKS_CO_TRY(begin_step(log, *next++, reading));
            }
            if (reading.ahead.empty()) {
                break;
            }
            Step step = std::move(reading.ahead.front());
            reading.ahead.pop_front();
            LKS_CO_TRY(co_await finish_step(log, std::move(step), reading));
        }
        reading.last = reading.last || records.empty();
    }
    co_return Status();
}

bool Shard::may_begin(const Reading& reading) const {
    return !reading.last && (reading.ahead.empty() || (reading.begun < reading.bytes_max &&
                                                       reading.ahead.size() < section_reads_max));
}

Status Shard::begin_step(Log& log, const meta::Record& record, Reading& reading) {
    WalkRecord one = LKS_TRY(to_walk_record(log.id, record));
    const OffsetRange range = one.range;
    index::IndexRecord& value = one.value;
    if (range.begin >= reading.end) {
        reading.last = true;
        return {};
    }
    if (range.begin > reading.joined) {
        // Trimmed in between, or a stale leader's answer.
        return conflict("log {}: no index record holds offset {}", log.id, reading.joined);
    }
    reading.joined = std::max(reading.joined, range.end);
    std::shared_ptr<Arrival> section;
    const bool raw = value.file_type == index::FileType::raw;
    if (raw && range.begin < log.fold.voids_from) {
        return compacted_meanwhile(log.id, range);
    }
    if (raw && log.fold.void_at(range.begin).end < range.end) {
        section = std::make_shared<Arrival>();
        scope_.spawn(fetch_section(log.id, record.key, value, section));
    }
    if (!raw || section != nullptr) {
        reading.begun +=
            static_cast<std::uint64_t>(std::max<std::int64_t>(value.entry_size_bytes, 0));
    }
    reading.ahead.push_back({range, one.created, record.key, std::move(value), std::move(section)});
    return {};
}

rt::Task<void> Shard::fetch_section(
    LogId log, std::string key, index::IndexRecord record, std::shared_ptr<Arrival> arrival
) {
    arrival->section = co_await read_section(log, std::move(key), std::move(record));
    arrival->arrived.notify_all();
}

rt::Task<Status> Shard::finish_step(Log& log, Step step, Reading& reading) {
    const std::uint64_t before = reading.bytes;
    if (step.value.file_type != index::FileType::raw) {
        const Status read = co_await read_compacted(log, std::move(step), reading);
        metrics_.read_compacted_bytes.add(reading.bytes - before);
        co_return read;
    }
    if (step.section == nullptr) {  // void as a whole: nothing to look at
        reading.add(
            {{std::max(reading.from, step.range.begin), step.range.end}, {}, step.created, true}
        );
        co_return Status();
    }
    while (!step.section->section.has_value()) {
        const Deadline until = reading.entries.empty() ? no_deadline : reading.patience;
        if (!co_await step.section->arrived.wait(until) && !step.section->section.has_value()) {
            co_return Status();  // its patience is over; what comes late stays in the cache
        }
    }
    const SectionDataPtr section = LKS_CO_TRY(std::move(*step.section->section));
    if (step.range.begin < log.fold.voids_from) {
        co_return compacted_meanwhile(log.id, step.range);
    }
    Offset offset = step.range.begin;
    for (const SectionData::Entry& entry : section->entries) {
        const OffsetRange range{offset, offset + entry.records};
        offset = range.end;
        if (range.end <= reading.from) {
            continue;
        }
        const bool is_void = !log.fold.void_at(range.begin).empty();
        if (!reading.add({range, is_void ? Bytes() : entry.payload, step.created, is_void})) {
            break;
        }
    }
    metrics_.read_wal_bytes.add(reading.bytes - before);
    co_return Status();
}

rt::Task<Status> Shard::read_compacted(Log& log, Step step, Reading& reading) {
    const OffsetRange range = step.range;
    CompactedSource* const source = seams_.compacted;
    if (source == nullptr) {
        co_return unsupported(
            "log {}: offsets {} to {} are in compacted object {}; this program cannot read those",
            log.id,
            range.begin,
            range.end,
            step.value.location
        );
    }
    // While a replacement is half done, records it covers may have been read already.
    Offset at = std::max(reading.from, range.begin);
    Patience patience{seams_.executor.now() + settings_.damage_patience, settings_.backoff_min};
    while (at < range.end && !has_enough(reading)) {
        const std::uint64_t room = reading.bytes_max - std::min(reading.bytes, reading.bytes_max);
        auto read = co_await source->read(log.id, step.value, range, at, room, scope_);
        if (read.is(ErrorCode::not_found)) {
            LKS_CO_TRY(
                co_await look_again(log.id, step.key, step.value, std::move(read.error()), patience)
            );
            continue;
        }
        auto parts = LKS_CO_TRY(std::move(read));
        for (CompactedPart& part : parts) {
            if (part.range.begin > at &&
                !reading.add({{at, part.range.begin}, {}, part.created, true})) {
                co_return Status();
            }
            at = part.range.end;
            if (!reading.add({part.range, std::move(part.payload), part.created, false})) {
                co_return Status();
            }
        }
        if (parts.empty()) {  // only voids are left
            reading.add({{at, range.end}, {}, WallTime(), true});
            at = range.end;
        }
    }
    co_return Status();
}

rt::Task<Result<SectionDataPtr>> Shard::read_section(
    LogId id, std::string key, index::IndexRecord record
) {
    Patience patience{seams_.executor.now() + settings_.damage_patience, settings_.backoff_min};
    while (true) {
        auto section = co_await seams_.sections.read(id, record);
        if (!section.is(ErrorCode::not_found)) {
            co_return section;
        }
        Error missing = not_found(
            "WAL object {} is missing; restore the object, the range is unreadable until then",
            record.location
        );
        LKS_CO_TRY(co_await look_again(id, key, record, std::move(missing), patience));
    }
}

rt::Task<Status> Shard::look_again(
    LogId id,
    const std::string& key,
    const index::IndexRecord& record,
    Error missing,
    Patience& patience
) {
    const auto now = co_await find_record(seams_.metadata, key, index::partition_key(id));
    if (now.ok() && !(now->has_value() && stays(**now, record))) {
        co_return conflict("log {}: index record {} was replaced while reading", id, key);
    }
    // The last record of a log stays when all of it is trimmed.
    const auto start = co_await load_start(seams_.metadata, id);
    if (start.ok() && *start >= LKS_CO_TRY(index::parse_key(id, key)).end) {
        co_return conflict("log {}: index record {} was trimmed while reading", id, key);
    }
    if (seams_.executor.now() > patience.deadline) {
        missing.code = ErrorCode::corrupt;
        co_return std::move(missing).with_context(fmt::format("index record {} refers to it", key));
    }
    if (co_await scope_.stop().sleep_until(seams_.executor.now() + patience.backoff)) {
        co_return cancelled("the node is stopping");
    }
    patience.backoff = std::min(patience.backoff * 2, settings_.backoff_max);
    co_return Status();
}

}  // namespace lakestream::log
