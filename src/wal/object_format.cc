// SPDX-License-Identifier: Apache-2.0
// Building and parsing index blocks.
#include "wal/object_format.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "base/endian.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::wal {

namespace {

constexpr std::int32_t format_version = 3;
constexpr std::size_t length_bytes = 4;
constexpr std::size_t legacy_length_bytes = 8;
constexpr std::size_t legacy_row_bytes = 32;
constexpr std::size_t crowded_table_max = 64;  // a smaller table grows when a bucket gets 8 logs

/// Java's hash of a long, spread as its hash map spreads it.
std::uint32_t java_hash(LogId log) {
    const auto id = static_cast<std::uint64_t>(log.v);
    const auto folded = static_cast<std::uint32_t>(id ^ (id >> 32));
    return folded ^ (folded >> 16);
}

/// The older layout has an int64 length, whose high word is zero.
bool is_legacy(std::span<const std::byte> begin) {
    return load_be<std::int32_t>(begin.data()) == 0;
}

Section read_section(codec::Reader& in) {
    Section section;
    section.log = LogId(in.int64());
    const std::uint32_t count = in.uvarint();
    // Each entry takes 3 bytes at least: no memory for what cannot be there.
    section.entries.reserve(std::min<std::size_t>(count, in.remaining() / 3));
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        EntryPlace place;
        place.offset = in.uvarint();
        place.length = in.uvarint();
        place.records = static_cast<std::int32_t>(in.uvarint());
        section.entries.push_back(place);
    }
    return section;
}

struct LegacyRow {
    LogId log;
    std::int64_t number = 0;
    EntryPlace place;
};

Result<LegacyRow> read_legacy_row(codec::Reader& in) {
    const LogId log(in.int64());
    const std::int64_t number = in.int64();
    const std::int64_t offset = in.int64();
    const std::int64_t length = in.int64();
    constexpr auto max = static_cast<std::int64_t>(payload_bytes_max);
    if (offset < 0 || length < 0 || offset > max || length > max) {
        return corrupt(
            "offset {} and length {} of entry {} are out of range", offset, length, number
        );
    }
    return LegacyRow{
        log, number, {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(length), 0}
    };
}

Result<std::vector<Section>> read_legacy_rows(codec::Reader& in) {
    std::vector<LegacyRow> rows;
    // The writer stores whole rows; what is left of one at the end is none.
    while (in.remaining() >= legacy_row_bytes) {
        rows.push_back(LKS_TRY(read_legacy_row(in)));
    }
    std::ranges::sort(rows, {}, [](const LegacyRow& row) {
        return std::tuple(row.log, row.number, row.place.offset);
    });
    std::vector<Section> sections;
    for (const LegacyRow& row : rows) {
        if (sections.empty() || sections.back().log != row.log) {
            sections.push_back({.log = row.log});
        }
        sections.back().entries.push_back(row.place);
        sections.back().legacy_numbers.push_back(row.number);
    }
    return sections;
}

}  // namespace

void ObjectBuilder::add(LogId log, Bytes payload, std::int32_t records) {
    LKS_ASSERT(records >= 1);
    LKS_ASSERT(payload_.size() + payload.size() <= payload_bytes_max);
    if (sections_.size() * 4 > buckets_ * 3) {
        buckets_ *= 2;
    }
    const auto [at, is_new] = by_log_.try_emplace(log, sections_.size());
    if (is_new) {
        sections_.push_back({.log = log});
        const auto shares_bucket = [&](const Section& other) {
            return bucket(other.log) == bucket(log);
        };
        if (buckets_ < crowded_table_max && std::ranges::count_if(sections_, shares_bucket) >= 8) {
            buckets_ *= 2;
        }
    }
    sections_[at->second].entries.push_back({
        static_cast<std::uint32_t>(payload_.size()),
        static_cast<std::uint32_t>(payload.size()),
        records,
    });
    payload_.append(std::move(payload));
}

std::size_t ObjectBuilder::bucket(LogId log) const {
    return java_hash(log) & (buckets_ - 1);
}

std::vector<std::size_t> ObjectBuilder::section_order() const {
    std::vector<std::size_t> order(sections_.size());
    std::ranges::copy(std::views::iota(std::size_t{0}, order.size()), order.begin());
    std::ranges::sort(order, [this](std::size_t a, std::size_t b) {
        const std::size_t bucket_a = bucket(sections_[a].log);
        const std::size_t bucket_b = bucket(sections_[b].log);
        return bucket_a != bucket_b ? bucket_a < bucket_b : a > b;  // newest first inside a bucket
    });
    return order;
}

BuiltObject ObjectBuilder::finish() {
    BuiltObject built;
    built.payload_bytes = payload_.size();
    codec::Writer out;
    const auto length = out.open_int32();
    out.int32(format_version);
    for (const std::size_t i : section_order()) {
        const Section& section = sections_[i];
        out.int64(section.log.v);
        out.uvarint(static_cast<std::uint32_t>(section.entries.size()));
        for (const EntryPlace& place : section.entries) {
            out.uvarint(place.offset);
            out.uvarint(place.length);
            out.uvarint(static_cast<std::uint32_t>(place.records));
        }
        built.sections.push_back(std::move(sections_[i]));
    }
    out.patch(length, static_cast<std::int32_t>(out.bytes_since(length)));
    built.body = out.finish();
    built.body.append(payload_);
    *this = ObjectBuilder();
    return built;
}

Result<std::uint64_t> header_bytes_needed(std::span<const std::byte> begin) {
    if (begin.size() < 8) {
        return corrupt("an object of {} bytes has no index block", begin.size());
    }
    const std::uint64_t length = is_legacy(begin)
                                     ? legacy_length_bytes + load_be<std::uint64_t>(begin.data())
                                     : length_bytes + load_be<std::uint32_t>(begin.data());
    if (length < 8 || length > header_bytes_max) {
        return corrupt("an index block of {} bytes is out of range", length);
    }
    return length;
}

Result<ObjectHeader> ObjectHeader::parse(std::span<const std::byte> begin) {
    const std::uint64_t needed = LKS_TRY(header_bytes_needed(begin));
    if (needed > begin.size()) {
        return corrupt(
            "the index block ends at {} beyond the {} bytes there are", needed, begin.size()
        );
    }
    ObjectHeader header;
    header.payload_begin_ = needed;
    codec::Reader in(begin.first(needed));
    if (is_legacy(begin)) {
        in.skip(legacy_length_bytes);
        header.sections_ = LKS_TRY(read_legacy_rows(in));
        return header;
    }
    in.skip(length_bytes + sizeof(format_version));
    std::map<LogId, Section> sections;
    while (in.remaining() > 0) {
        Section section = read_section(in);
        const LogId log = section.log;
        sections.insert_or_assign(log, std::move(section));
    }
    LKS_TRY(in.status("index block"));
    for (auto& [log, section] : sections) {
        header.sections_.push_back(std::move(section));
    }
    return header;
}

const Section* ObjectHeader::find(LogId log) const noexcept {
    const auto found = std::ranges::lower_bound(sections_, log, {}, &Section::log);
    return found != sections_.end() && found->log == log ? &*found : nullptr;
}

}  // namespace lakestream::wal
