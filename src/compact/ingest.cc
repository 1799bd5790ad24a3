// SPDX-License-Identifier: Apache-2.0
// Planning by object, and the walk over the objects.
#include "compact/ingest.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "base/format.h"
#include "compact/decode_rows.h"
#include "log/section_data.h"
#include "wal/object_format.h"

namespace lakestream::compact {

namespace {

/// Everything that is wanted of one object, cut out and verified; damaged sections go to `damaged`.
using Cut = std::vector<std::pair<std::size_t, std::vector<SpilledEntry>>>;

Cut cut_object(const ObjectWork& work, const Bytes& object, std::map<LogId, Error>& damaged) {
    Cut cut;
    auto header = wal::ObjectHeader::parse(object.span());
    if (!header.ok()) {
        const Error error =
            std::move(header.error()).with_context(fmt::format("WAL object {}", work.location));
        for (const auto& [log, record] : work.sections) {
            damaged.emplace(log, error);
        }
        return cut;
    }
    const std::uint64_t base = header->payload_begin();
    for (std::size_t i = 0; i < work.sections.size(); ++i) {
        const auto& [log, record] = work.sections[i];
        if (damaged.contains(log)) {
            continue;
        }
        const auto place = log::find_section(log, record.value, *header);
        if (!place.ok() || base + place->end > object.size()) {
            damaged.emplace(
                log, place.ok() ? corrupt("WAL object {} ends early", work.location) : place.error()
            );
            continue;
        }
        const auto data = log::cut_section(
            log, record.value, *place, object.slice(base + place->begin, place->end - place->begin)
        );
        if (!data.ok()) {
            damaged.emplace(log, data.error());
            continue;
        }
        std::vector<std::pair<std::int32_t, Bytes>> entries;
        entries.reserve(data->entries.size());
        for (const log::SectionData::Entry& entry : data->entries) {
            entries.emplace_back(entry.records, entry.payload);
        }
        std::vector<SpilledEntry> valid = valid_entries(record, entries);
        if (const Status sealed = check_batches(valid); !sealed.ok()) {
            damaged.emplace(
                log, Error(sealed.error()).with_context(fmt::format("WAL object {}", work.location))
            );
            continue;
        }
        cut.emplace_back(i, std::move(valid));
    }
    return cut;
}

Status spill_object(
    const ObjectWork& work, const Bytes& object, Spill& spill, std::map<LogId, Error>& damaged
) {
    for (const auto& [i, entries] : cut_object(work, object, damaged)) {
        const auto& [log, record] = work.sections[i];
        LKS_TRY(spill.add(log, record.range, entries));
    }
    return {};
}

/// By date, as they were written, so that a round that stops early leaves the youngest; but none
/// before what its logs need first. Where two logs disagree, one gets a record early.
std::vector<ObjectWork> in_order(
    std::map<std::string, ObjectWork> by_location, std::map<LogId, std::deque<std::string>> needs
) {
    std::set<std::string> reached;             // next for one of their logs
    std::set<std::string> ready;               // next for all of them
    std::map<std::string, std::size_t> ahead;  // logs that need others before
    for (const auto& [location, work] : by_location) {
        ahead[location] = work.sections.size();
    }
    const auto advance = [&](std::deque<std::string>& need) {
        while (!need.empty() && !by_location.contains(need.front())) {
            need.pop_front();
        }
        if (!need.empty()) {
            reached.insert(need.front());
            if (--ahead[need.front()] == 0) {
                ready.insert(need.front());
            }
        }
    };
    for (auto& [log, need] : needs) {
        advance(need);
    }
    std::vector<ObjectWork> plan;
    while (!reached.empty()) {
        const std::string next = ready.empty() ? *reached.begin() : *ready.begin();
        reached.erase(next);
        ready.erase(next);
        plan.push_back(std::move(by_location.extract(next).mapped()));
        for (const auto& [log, record] : plan.back().sections) {
            if (std::deque<std::string>& need = needs[log]; !need.empty() && need.front() == next) {
                advance(need);
            }
        }
    }
    return plan;
}

}  // namespace

std::vector<ObjectWork> plan_objects(
    std::vector<std::pair<LogId, std::vector<log::WalkRecord>>> logs
) {
    std::map<std::string, ObjectWork> by_location;
    std::map<LogId, std::deque<std::string>> needs;
    for (auto& [log, records] : logs) {
        for (log::WalkRecord& record : records) {
            if (record.value.file_type != index::FileType::raw || record.is_void()) {
                continue;
            }
            ObjectWork& work = by_location[record.value.location];
            work.location = record.value.location;
            needs[log].push_back(work.location);
            work.sections.emplace_back(log, std::move(record));
        }
    }
    return in_order(std::move(by_location), std::move(needs));
}

std::vector<SpilledEntry> valid_entries(
    const log::WalkRecord& record, const std::vector<std::pair<std::int32_t, Bytes>>& entries
) {
    std::vector<SpilledEntry> valid;
    Offset offset = record.range.begin;
    std::int64_t cumulative = record.cumulative - record.value.entry_size_bytes;
    for (const auto& [records, payload] : entries) {
        const OffsetRange range{offset, offset + records};
        offset = range.end;
        cumulative += static_cast<std::int64_t>(payload.size());
        const bool is_void = std::ranges::any_of(record.voids, [&](const OffsetRange& gap) {
            return gap.contains(range.begin);
        });
        if (!is_void) {
            valid.push_back({range, cumulative, record.created, payload});
        }
    }
    return valid;
}

namespace {

/// Of each log in an object that cannot be read: damage, unless the index says by now that nobody
/// needs the object any more, for it was compacted by another or trimmed.
rt::Task<void> judge_missing(
    log::CompactionView& view, const ObjectWork& work, const Error& error, IngestDone& done
) {
    for (const auto& [log, record] : work.sections) {
        const auto now = co_await view.walk(log, record.range.begin, 1);
        const bool stays = !now.ok() || (!now->empty() && now->front().range == record.range &&
                                         now->front().value == record.value);
        if (stays || error.code != ErrorCode::not_found) {
            done.damaged.emplace(log, error);
        } else {
            done.passed.insert(log);
        }
    }
}

}  // namespace

rt::Task<Result<IngestDone>> ingest(
    log::CompactionView& view,
    objstore::ObjectStore& objects,
    rt::Offloader& offloader,
    Spill& spill,
    std::vector<IngestLog> logs,
    IngestLimits limits
) {
    IngestDone done;
    std::vector<std::pair<LogId, std::vector<log::WalkRecord>>> wanted;
    for (const IngestLog& log : logs) {
        auto records = co_await view.walk(log.log, log.from, limits.records_per_log);
        if (records.is(ErrorCode::conflict)) {
            done.passed.insert(log.log);
            continue;
        }
        if (!records.ok()) {
            done.damaged.emplace(log.log, std::move(records.error()));
            continue;
        }
        done.more = done.more || records->size() == limits.records_per_log;
        if (!records->empty() && (records->front().value.file_type != index::FileType::raw ||
                                  records->front().range.begin > log.from)) {
            done.passed.insert(log.log);  // or trimmed
        }
        for (const log::WalkRecord& record : *records) {
            if (record.value.file_type == index::FileType::raw && record.is_void()) {
                LKS_CO_TRY(spill.add(log.log, record.range, {}));
            }
        }
        wanted.emplace_back(log.log, std::move(*records));
    }
    for (const ObjectWork& work : plan_objects(std::move(wanted))) {
        if (spill.bytes() > limits.spill_bytes_max || done.bytes >= limits.bytes_max) {
            done.more = true;
            break;
        }
        auto object = co_await objects.get(work.location, std::nullopt);
        if (object.is(ErrorCode::not_found) || object.is(ErrorCode::corrupt)) {
            co_await judge_missing(view, work, object.error(), done);
            continue;
        }
        const Bytes bytes = LKS_CO_TRY(std::move(object));
        ++done.objects;
        done.bytes += bytes.size();
        const Status spilled = co_await rt::offload(offloader, [&work, &bytes, &spill, &done] {
            return spill_object(work, bytes, spill, done.damaged);
        });
        LKS_CO_TRY(spilled);
    }
    co_return done;
}

}  // namespace lakestream::compact
