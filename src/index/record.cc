// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding index values.
#include "index/record.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <string_view>

#include "base/format.h"
#include "codec/fastpfor.h"
#include "codec/reader.h"
#include "codec/varint.h"
#include "codec/writer.h"
#include "index/extension.h"

namespace lakestream::index {

namespace {

enum WireType : std::uint32_t {
    wire_varint = 0,
    wire_fixed64 = 1,
    wire_bytes = 2,
    wire_fixed32 = 5
};

constexpr std::uint32_t fastpfor = 1;           // EntryOffsets.compression_type
constexpr std::size_t entries_max = 1'000'000;  // of one record

constexpr std::uint32_t tag(std::uint32_t field, WireType type) {
    return field << 3 | type;
}

void put_int(codec::Writer& out, std::uint32_t field, std::int64_t value) {
    out.uvarint(tag(field, wire_varint));
    out.uvarint64(static_cast<std::uint64_t>(value));
}

void put_bytes(codec::Writer& out, std::uint32_t field, std::span<const std::byte> value) {
    out.uvarint(tag(field, wire_bytes));
    out.uvarint(static_cast<std::uint32_t>(value.size()));
    out.raw(value);
}

void put_text(codec::Writer& out, std::uint32_t field, std::string_view value) {
    put_bytes(out, field, std::as_bytes(std::span(value)));
}

Bytes encode_offsets(std::span<const std::uint32_t> offsets) {
    codec::Writer out;
    put_int(out, 1, fastpfor);
    put_int(out, 2, static_cast<std::int64_t>(offsets.size() * 4));
    put_bytes(out, 3, codec::fastpfor_encode(offsets).span());
    return out.finish().join();
}

/// One field of a message as it stands on the wire.
struct Field {
    std::uint32_t number = 0;
    std::uint32_t type = 0;
    std::int64_t value = 0;            // of a varint
    std::span<const std::byte> bytes;  // of a length-delimited one
};

/// Groups fail the reader, as do unknown wire types.
Field read_field(codec::Reader& in) {
    const std::uint32_t key = in.uvarint();
    Field field{.number = key >> 3, .type = key & 7, .value = 0, .bytes = {}};
    switch (field.type) {
        case wire_varint: field.value = static_cast<std::int64_t>(in.uvarint64()); break;
        case wire_fixed64: in.skip(8); break;
        case wire_bytes: field.bytes = in.span(in.uvarint()); break;
        case wire_fixed32: in.skip(4); break;
        default: in.fail();
    }
    if (field.number == 0) {
        in.fail();
    }
    return field;
}

std::string to_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<std::vector<std::uint32_t>> decode_offsets(std::span<const std::byte> message) {
    codec::Reader in(message);
    std::span<const std::byte> packed;
    while (in.remaining() > 0) {
        const Field field = read_field(in);
        if (field.number == 3 && field.type == wire_bytes) {
            packed = field.bytes;
        }
    }
    LKS_TRY(in.status("entry offsets"));
    return codec::fastpfor_decode(packed, entries_max);
}

Status decode_extra(std::span<const std::byte> message, IndexRecord& record) {
    codec::Reader in(message);
    std::optional<std::string> key;
    std::optional<std::string> value;
    while (in.remaining() > 0) {
        const Field field = read_field(in);
        if (field.type == wire_bytes && field.number == 1) {
            key = to_text(field.bytes);
        } else if (field.type == wire_bytes && field.number == 2) {
            value = to_text(field.bytes);
        }
    }
    LKS_TRY(in.status("extra data"));
    const auto same_key = [&](const auto& pair) { return pair.first == *key; };
    if (!key || !value || std::ranges::any_of(record.extra, same_key)) {
        return corrupt("extra data without key or value, or with a key twice");
    }
    record.extra.emplace_back(std::move(*key), std::move(*value));
    return {};
}

constexpr std::uint32_t extension_field = 100;

/// The fields that every reader needs: bit n for field n.
constexpr std::uint32_t needed_fields = 0b11'1111'1100;

/// What a decoder has seen besides the record's own fields.
struct Seen {
    std::uint32_t fields = 0;  // bit n for field n
    std::optional<std::span<const std::byte>> extension;
};

Status take_field(const Field& field, IndexRecord& record, Seen& seen) {
    if (field.type == wire_bytes) {
        switch (field.number) {
            case 2: record.location = to_text(field.bytes); break;
            case 10: record.entry_offsets = LKS_TRY(decode_offsets(field.bytes)); break;
            case 11: return decode_extra(field.bytes, record);
            case extension_field: seen.extension = field.bytes; return {};
            default: return {};
        }
    } else if (field.type == wire_varint) {
        const bool is_enum = field.number == 3 || field.number == 4;
        if (is_enum && field.value != 0 && field.value != 1) {
            return {};  // an unknown number counts as missing
        }
        switch (field.number) {
            case 3: record.file_type = FileType(field.value); break;
            case 4: record.index_type = IndexType(field.value); break;
            case 5: record.message_count = static_cast<std::int32_t>(field.value); break;
            case 6: record.entry_size_bytes = field.value; break;
            case 7: record.file_size = field.value; break;
            case 8: record.offset_in_file = field.value; break;
            case 9: record.entry_count = static_cast<std::int32_t>(field.value); break;
            default: return {};
        }
    } else {
        return {};
    }
    seen.fields |= 1U << field.number;
    return {};
}

std::optional<std::int64_t> parse_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

}  // namespace

Bytes IndexRecord::encode() const {
    codec::Writer out(128 + location.size());
    put_int(out, 1, 3);
    put_text(out, 2, location);
    put_int(out, 3, static_cast<std::int64_t>(file_type));
    put_int(out, 4, static_cast<std::int64_t>(index_type));
    put_int(out, 5, message_count);
    put_int(out, 6, entry_size_bytes);
    put_int(out, 7, file_size);
    put_int(out, 8, offset_in_file);
    put_int(out, 9, entry_count);
    if (entry_count > 1) {
        put_bytes(out, 10, encode_offsets(entry_offsets).span());
    }
    for (const auto& [key, value] : extra) {
        codec::Writer pair;
        put_text(pair, 1, key);
        put_text(pair, 2, value);
        put_bytes(out, 11, pair.finish().join().span());
    }
    if (extension.has_value()) {
        put_bytes(out, extension_field, encode_extension(*extension, *this).span());
    }
    return out.finish().join();
}

Result<IndexRecord> IndexRecord::decode(const Bytes& value) {
    codec::Reader in(value.span());
    IndexRecord record;
    Seen seen;
    while (in.remaining() > 0) {
        const Field field = read_field(in);
        if (in.ok()) {
            LKS_TRY(take_field(field, record, seen));
        }
    }
    LKS_TRY(in.status("index record"));
    if ((seen.fields & needed_fields) != needed_fields) {
        return corrupt("index record without one of the fields 2 to 9");
    }
    if (seen.extension.has_value()) {
        LKS_TRY(record.entry_records());  // runs are counted by them
        record.extension = LKS_TRY(decode_extension(*seen.extension, record));
    }
    return record;
}

Result<IndexRecord> IndexRecord::decode_text(const Bytes& value, TextVersion version) {
    // <records>-<bytes>-<location>-<entry>, and -RAW or -PARQUET in version 2; the location may
    // contain '-'.
    std::string_view text = value.view();
    bool parquet = false;
    if (version == TextVersion::v2) {
        const std::size_t suffix = std::min(text.rfind('-'), text.size());
        parquet = text.substr(suffix) == "-PARQUET";
        text = text.substr(0, suffix);
    }
    const std::size_t first = text.find('-');
    const std::size_t second = first == text.npos ? text.npos : text.find('-', first + 1);
    const std::size_t last = text.rfind('-');
    if (second == text.npos || last <= second) {
        return corrupt("'{}' is no index record of version 1 or 2", value.view());
    }
    const auto records = parse_number(text.substr(0, first));
    const auto bytes = parse_number(text.substr(first + 1, second - first - 1));
    const auto entry = parse_number(text.substr(last + 1));
    if (!records || !bytes || !entry) {
        return corrupt("'{}' is no index record of version 1 or 2", value.view());
    }
    return IndexRecord{
        .location = std::string(text.substr(second + 1, last - second - 1)),
        .file_type = parquet ? FileType::parquet : FileType::raw,
        .index_type = parquet ? IndexType::compact : IndexType::normal,
        .message_count = static_cast<std::int32_t>(*records),
        .entry_size_bytes = *bytes,
        .file_size = 0,
        .offset_in_file = *entry,
        .entry_count = 1,
    };
}

Result<std::vector<std::int32_t>> IndexRecord::entry_records() const {
    std::vector<std::int32_t> records;
    if (message_count <= 0) {
        return corrupt("index record of {} records", message_count);
    }
    if (entry_offsets.empty()) {
        if (entry_count > 1) {
            return corrupt("index record of {} entries without entry offsets", entry_count);
        }
        records.push_back(message_count);
        return records;
    }
    std::uint32_t before = 0;
    for (const std::uint32_t offset : entry_offsets) {
        if (offset <= before || offset > static_cast<std::uint32_t>(message_count)) {
            return corrupt(
                "index record whose entry offsets do not rise to its {} records", message_count
            );
        }
        records.push_back(static_cast<std::int32_t>(offset - before));
        before = offset;
    }
    if (before != static_cast<std::uint32_t>(message_count)) {
        return corrupt(
            "index record whose entry offsets end at {}, not at {}", before, message_count
        );
    }
    return records;
}

Result<EntrySpan> IndexRecord::find_entry(Offset end, Offset offset) const {
    const OffsetRange all{end - message_count, end};
    if (!all.contains(offset)) {
        return out_of_range("offset {} is not in the index record that ends at {}", offset, end);
    }
    if (entry_offsets.empty() && entry_count <= 1) {
        return EntrySpan{0, all};
    }
    const auto found = std::ranges::upper_bound(entry_offsets, offset - all.begin);
    if (found == entry_offsets.end()) {
        return corrupt("index record of {} entries does not say where they end", entry_count);
    }
    const std::int64_t before = found == entry_offsets.begin() ? 0 : *std::prev(found);
    const EntrySpan span{
        static_cast<std::size_t>(found - entry_offsets.begin()),
        {all.begin + before, all.begin + *found},
    };
    if (!span.range.contains(offset) || span.range.end > end) {
        return corrupt("index record whose entry offsets do not rise to {} records", message_count);
    }
    return span;
}

}  // namespace lakestream::index
