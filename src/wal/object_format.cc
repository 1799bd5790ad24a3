// SPDX-License-Identifier: Apache-2.0
// Building and parsing index blocks.
#include "wal/object_format.h"

#include <algorithm>
#include <ranges>

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

void keep_last(std::vector<Section>& sections, Section section) {
    const auto same = std::ranges::find(sections, section.log, &Section::log);
    if (same != sections.end()) {
        *same = std::move(section);
    } else {
        sections.push_back(std::move(section));
    }
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

Result<std::vector<Section>> read_legacy_rows(codec::Reader& in, std::uint64_t rows) {
    std::vector<Section> sections;
    for (std::uint64_t i = 0; i < rows; ++i) {
        const LogId log(in.int64());
        in.int64();  // entry number in the object: rows are in its order
        const std::int64_t offset = in.int64();
        const std::int64_t length = in.int64();
        if (offset < 0 || length < 0 || offset > static_cast<std::int64_t>(payload_bytes_max) ||
            length > static_cast<std::int64_t>(payload_bytes_max)) {
            return corrupt(
                "index row {}: offset {} and length {} are out of range", i, offset, length
            );
        }
        const EntryPlace place{
            static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(length), 0
        };
        auto section = std::ranges::find(sections, log, &Section::log);
        if (section == sections.end()) {
            section = sections.insert(sections.end(), Section{.log = log, .entries = {}});
        }
        section->entries.push_back(place);
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
        sections_.push_back({.log = log, .entries = {}});
    }
    sections_[at->second].entries.push_back({
        static_cast<std::uint32_t>(payload_.size()),
        static_cast<std::uint32_t>(payload.size()),
        records,
    });
    payload_.append(std::move(payload));
}

std::vector<std::size_t> ObjectBuilder::section_order() const {
    std::vector<std::size_t> order(sections_.size());
    std::ranges::copy(std::views::iota(std::size_t{0}, order.size()), order.begin());
    std::ranges::sort(order, [this](std::size_t a, std::size_t b) {
        const std::uint32_t mask = static_cast<std::uint32_t>(buckets_) - 1;
        const std::uint32_t bucket_a = java_hash(sections_[a].log) & mask;
        const std::uint32_t bucket_b = java_hash(sections_[b].log) & mask;
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
        if (in.remaining() % legacy_row_bytes != 0) {
            // The writer stores whole rows; what is cut off is not one.
            in = codec::Reader(begin.subspan(
                legacy_length_bytes, in.remaining() - in.remaining() % legacy_row_bytes
            ));
        }
        header.sections_ = LKS_TRY(read_legacy_rows(in, in.remaining() / legacy_row_bytes));
        return header;
    }
    in.skip(length_bytes + sizeof(format_version));
    while (in.remaining() > 0) {
        Section section = read_section(in);
        LKS_TRY(in.status("index block"));
        keep_last(header.sections_, std::move(section));
    }
    return header;
}

const Section* ObjectHeader::find(LogId log) const noexcept {
    const auto found = std::ranges::find(sections_, log, &Section::log);
    return found == sections_.end() ? nullptr : &*found;
}

}  // namespace lakestream::wal
