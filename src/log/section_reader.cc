// SPDX-License-Identifier: Apache-2.0
// Reading sections whole and verifying them.
#include "log/section_reader.h"

#include <algorithm>

#include "base/result.h"

namespace lakestream::log {

namespace {

/// Enough for the index block of most objects; larger ones need a second request.
constexpr std::uint64_t header_bytes_guess = 16 << 10;

}  // namespace

SectionReader::SectionReader(Seams seams, const EngineSettings& settings, std::uint64_t bytes_max)
    : seams_(seams), settings_(settings), bytes_max_(bytes_max) {}

SectionReader::~SectionReader() = default;

rt::Task<Result<SectionReader::HeaderPtr>> SectionReader::header(
    std::string location, std::uint64_t payload_bytes
) {
    if (const auto found = by_location_.find(location); found != by_location_.end()) {
        headers_.splice(headers_.begin(), headers_, found->second);
        co_return found->second->second;
    }
    co_return co_await header_flights_.run(location, load_header(location, payload_bytes));
}

rt::Task<Result<SectionReader::HeaderPtr>> SectionReader::load_header(
    std::string location, std::uint64_t payload_bytes
) {
    // An object is its payload, at least one entry's index and 8 bytes more: the guess fits.
    const std::uint64_t guess = std::min(payload_bytes + 8, header_bytes_guess);
    Bytes begin = LKS_CO_TRY(co_await get(location, {0, guess}));
    const std::uint64_t needed = LKS_CO_TRY(wal::header_bytes_needed(begin.span()));
    if (needed > begin.size()) {
        if (needed > payload_bytes + wal::header_bytes_max) {
            co_return corrupt("WAL object {}: an index block of {} bytes", location, needed);
        }
        begin = LKS_CO_TRY(co_await get(location, {0, needed}));
    }
    auto parsed = wal::ObjectHeader::parse(begin.span());
    if (!parsed.ok()) {
        co_return std::move(parsed.error()).with_context(fmt::format("WAL object {}", location));
    }
    auto header = std::make_shared<const wal::ObjectHeader>(std::move(*parsed));
    if (!by_location_.contains(location)) {
        headers_.emplace_front(location, header);
        by_location_.emplace(std::move(location), headers_.begin());
        if (headers_.size() > settings_.header_cache_objects_max) {
            by_location_.erase(headers_.back().first);
            headers_.pop_back();
        }
    }
    co_return header;
}

rt::Task<Result<Bytes>> SectionReader::get(std::string location, objstore::ByteRange range) {
    const auto units = co_await seams_.bytes_on_their_way.acquire(range.size());
    auto bytes = co_await seams_.objects.get(location, range);
    if (bytes.is(ErrorCode::out_of_range)) {
        co_return corrupt("WAL object {} has no bytes {} to {}", location, range.begin, range.end);
    }
    co_return bytes;
}

void SectionReader::forget_header(const std::string& location) {
    if (const auto found = by_location_.find(location); found != by_location_.end()) {
        headers_.erase(found->second);
        by_location_.erase(found);
    }
}

rt::Task<Result<SectionDataPtr>> SectionReader::read(LogId log, index::IndexRecord record) {
    const Key key(record.location, log.v);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
        sections_.splice(sections_.begin(), sections_, found->second);
        metrics_.hits.add();
        co_return found->second->second;
    }
    co_return co_await section_flights_.run(key, read_new(log, std::move(record)));
}

rt::Task<Result<SectionDataPtr>> SectionReader::read_new(LogId log, index::IndexRecord record) {
    metrics_.misses.add();
    auto section = co_await load(log, record);
    if (section.is(ErrorCode::corrupt)) {
        forget_header(record.location);
        section = co_await load(log, record);
    }
    if (section.is(ErrorCode::corrupt)) {
        forget_header(record.location);
    }
    if (section.ok()) {
        remember(Key(record.location, log.v), *section);
    }
    co_return section;
}

rt::Task<Result<SectionDataPtr>> SectionReader::load(LogId log, index::IndexRecord record) {
    const auto file_size = static_cast<std::uint64_t>(record.file_size);
    const HeaderPtr header = LKS_CO_TRY(co_await this->header(record.location, file_size));
    const SectionPlace place = LKS_CO_TRY(find_section(log, record, *header));
    Bytes body;
    if (place.end > place.begin) {
        const std::uint64_t base = header->payload_begin();
        body = LKS_CO_TRY(co_await get(record.location, {base + place.begin, base + place.end}));
    }
    co_return std::make_shared<const SectionData>(LKS_CO_TRY(cut_section(log, record, place, body))
    );
}

void SectionReader::remember(Key key, SectionDataPtr section) {
    if (section->bytes > bytes_max_ / 2 || by_key_.contains(key)) {
        return;
    }
    bytes_ += section->bytes;
    sections_.emplace_front(key, std::move(section));
    by_key_.emplace(std::move(key), sections_.begin());
    while (bytes_ > bytes_max_) {
        bytes_ -= sections_.back().second->bytes;
        by_key_.erase(sections_.back().first);
        sections_.pop_back();
    }
    metrics_.bytes.set(static_cast<std::int64_t>(bytes_));
}

}  // namespace lakestream::log
