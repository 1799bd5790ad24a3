// SPDX-License-Identifier: Apache-2.0
// Reading what is no longer in memory: through the index, several sections at a time.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "index/key.h"
#include "log/index_scan.h"
#include "log/index_value.h"
#include "log/shard.h"

namespace lakestream::log {

namespace {

constexpr std::size_t section_reads_max = 8;  // of one read, at once

/// Whether what is stored now says the same; a compacted record may have come in under the key.
bool stays(const meta::Record& stored, const index::IndexRecord& record) {
    const auto value = index::IndexRecord::decode(stored.value);
    return value.ok() && *value == record;
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
        // Nothing there: the log was deleted, a record was just replaced, or a stale leader
        // answers.
        const Error missing =
            corrupt("log {}: no index record holds offset {}", log.id, request.from);
        const Error cause = co_await find_cause(log, missing);
        if (log.fenced) {
            co_return not_found("log {} is deleted", log.id);
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
    std::shared_ptr<Arrival> section;
    const bool raw = value.file_type == index::FileType::raw;
    if (raw && log.fold.void_at(range.begin).end < range.end) {
        section = std::make_shared<Arrival>();
        scope_.spawn(fetch_section(log.id, record.key, value, section));
    }
    if (!raw || section != nullptr) {
        reading.begun +=
            static_cast<std::uint64_t>(std::max<std::int64_t>(value.entry_size_bytes, 0));
    }
    reading.ahead.push_back({range, one.created, std::move(value), std::move(section)});
    return {};
}

rt::Task<void> Shard::fetch_section(
    LogId log, std::string key, index::IndexRecord record, std::shared_ptr<Arrival> arrival
) {
    arrival->section = co_await read_section(log, std::move(key), std::move(record));
    arrival->arrived.notify_all();
}

rt::Task<Status> Shard::finish_step(Log& log, Step step, Reading& reading) {
    if (step.value.file_type != index::FileType::raw) {
        co_return co_await read_compacted(log, std::move(step.value), step.range, reading);
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
    co_return Status();
}

rt::Task<Status> Shard::read_compacted(
    Log& log, index::IndexRecord value, OffsetRange range, Reading& reading
) {
    if (seams_.compacted == nullptr) {
        co_return unsupported(
            "log {}: offsets {} to {} are in compacted object {}; this program cannot read those",
            log.id,
            range.begin,
            range.end,
            value.location
        );
    }
    // While a replacement is half done, records it covers may have been read already.
    Offset at = std::max(reading.from, range.begin);
    while (at < range.end && !has_enough(reading)) {
        const std::uint64_t room = reading.bytes_max - std::min(reading.bytes, reading.bytes_max);
        auto parts = LKS_CO_TRY(co_await seams_.compacted->read(log.id, value, range, at, room));
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
    const Deadline deadline = seams_.executor.now() + settings_.damage_patience;
    Duration backoff = settings_.backoff_min;
    while (true) {
        auto section = co_await seams_.sections.read(id, record);
        if (!section.is(ErrorCode::not_found)) {
            co_return section;
        }
        // Compaction may have replaced the record and cleaning removed the object: look again.
        const auto now = co_await find_record(seams_.metadata, key, index::partition_key(id));
        if (now.ok() && !(now->has_value() && stays(**now, record))) {
            co_return conflict("log {}: index record {} was replaced while reading", id, key);
        }
        if (seams_.executor.now() > deadline) {
            co_return corrupt(
                "WAL object {} is missing, index record {} refers to it; restore the object, the "
                "range is unreadable until then",
                record.location,
                key
            );
        }
        if (co_await scope_.stop().sleep_until(seams_.executor.now() + backoff)) {
            co_return cancelled("the node is stopping");
        }
        backoff = std::min(backoff * 2, settings_.backoff_max);
    }
}

}  // namespace lakestream::log
