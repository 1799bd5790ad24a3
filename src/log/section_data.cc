// SPDX-License-Identifier: Apache-2.0
// What an index record says, against what its object holds.
#include "log/section_data.h"

#include <algorithm>

#include "base/format.h"
#include "codec/crc32c.h"

namespace lakestream::log {

namespace {

Error damaged(LogId log, const index::IndexRecord& record, std::string_view what) {
    return corrupt(
        "WAL object {}: its section of log {} {}; keep the object and run `lakestream check`",
        record.location,
        log,
        what
    );
}

}  // namespace

Result<SectionPlace> find_section(
    LogId log, const index::IndexRecord& record, const wal::ObjectHeader& header
) {
    SectionPlace found{.section = header.find(log)};
    if (found.section == nullptr) {
        return damaged(log, record, "is missing");
    }
    const auto counts = record.entry_records();
    if (!counts.ok()) {
        return damaged(log, record, counts.error().message);
    }
    bool same = counts->size() == found.section->entries.size();
    found.begin = ~std::uint64_t{0};
    for (std::size_t i = 0; i < found.section->entries.size(); ++i) {
        const wal::EntryPlace& place = found.section->entries[i];
        // Which offsets an entry has follows from the counts before it.
        same = same && place.records == (*counts)[i];
        found.bytes += place.length;
        found.begin = std::min<std::uint64_t>(found.begin, place.offset);
        found.end = std::max(found.end, std::uint64_t{place.offset} + place.length);
    }
    found.begin = std::min(found.begin, found.end);
    if (!same || found.bytes != static_cast<std::uint64_t>(record.entry_size_bytes)) {
        return damaged(log, record, "does not hold the records that the index says");
    }
    if (found.end > static_cast<std::uint64_t>(record.file_size)) {
        return damaged(log, record, "lies beyond the object's end");
    }
    return found;
}

Result<SectionData> cut_section(
    LogId log, const index::IndexRecord& record, const SectionPlace& place, const Bytes& body
) {
    SectionData data{.entries = {}, .bytes = place.bytes};
    data.entries.reserve(place.section->entries.size());
    std::uint32_t crc = 0;
    for (const wal::EntryPlace& entry : place.section->entries) {
        Bytes payload =
            entry.length == 0 ? Bytes() : body.slice(entry.offset - place.begin, entry.length);
        crc = codec::crc32c(payload.span(), crc);
        data.entries.push_back({entry.records, std::move(payload)});
    }
    if (record.extension.has_value() && record.extension->crc32c != crc) {
        return damaged(log, record, "fails its checksum");
    }
    return data;
}

}  // namespace lakestream::log
