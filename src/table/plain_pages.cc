// SPDX-License-Identifier: Apache-2.0
// Going over pages, their headers, levels and values.
#include "table/plain_pages.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/endian.h"
#include "codec/crc32.h"
#include "codec/reader.h"

namespace lakestream::table {
namespace {

using codec::Reader;

/// Of Thrift's compact protocol.
enum class Wire : std::uint8_t {
    stop = 0,
    is_true = 1,
    is_false = 2,
    int8 = 3,
    int16 = 4,
    int32 = 5,
    int64 = 6,
    float64 = 7,
    binary = 8,
    list = 9,
    set = 10,
    map = 11,
    structure = 12,
};

struct PageHeader {
    std::int32_t type = -1;
    std::int32_t size = -1;
    std::int32_t stored_size = -1;
    std::optional<std::int32_t> crc;
    std::int32_t values = -1;
    std::int32_t encoding = -1;
    std::int32_t level_encoding = -1;

    static constexpr std::int32_t data_page = 0;
    static constexpr std::int32_t plain = 0;
    static constexpr std::int32_t rle = 3;

    bool is_known() const {
        return type == data_page && size == stored_size && encoding == plain &&
               level_encoding == rle;
    }
};

/// The next field of a structure; false at its end.
bool next_field(Reader& in, std::int16_t& field, Wire& wire) {
    const std::uint8_t head = in.uint8();
    wire = static_cast<Wire>(head & 0x0f);
    if (!in.ok() || wire == Wire::stop) {
        return false;
    }
    const int delta = head >> 4;
    field = static_cast<std::int16_t>(delta != 0 ? field + delta : in.varint());
    return in.ok();
}

/// Values of lists and maps do not occur in what we read: they fail the reader, which is no damage.
void skip_value(Reader& in, Wire wire, int depth) {
    constexpr int depth_max = 4;
    switch (wire) {
        case Wire::is_true:
        case Wire::is_false: return;
        case Wire::int8: in.skip(1); return;
        case Wire::int16:
        case Wire::int32:
        case Wire::int64: in.uvarint64(); return;
        case Wire::float64: in.skip(8); return;
        case Wire::binary: in.skip(in.uvarint()); return;
        case Wire::structure: {
            std::int16_t field = 0;
            if (depth == depth_max) {
                in.fail();
            }
            while (next_field(in, field, wire)) {
                skip_value(in, wire, depth + 1);
            }
            return;
        }
        default: in.fail(); return;
    }
}

void read_data_page(Reader& in, PageHeader& header) {
    std::int16_t field = 0;
    Wire wire{};
    while (next_field(in, field, wire)) {
        if (wire != Wire::int32) {
            skip_value(in, wire, 0);
            continue;
        }
        const std::int32_t value = in.varint();
        switch (field) {
            case 1: header.values = value; break;
            case 2: header.encoding = value; break;
            case 3: header.level_encoding = value; break;
            default: break;
        }
    }
}

PageHeader read_header(Reader& in) {
    PageHeader header;
    std::int16_t field = 0;
    Wire wire{};
    while (next_field(in, field, wire)) {
        if (wire == Wire::structure && field == 5) {
            read_data_page(in, header);
            continue;
        }
        if (wire != Wire::int32) {
            skip_value(in, wire, 0);
            continue;
        }
        const std::int32_t value = in.varint();
        switch (field) {
            case 1: header.type = value; break;
            case 2: header.size = value; break;
            case 3: header.stored_size = value; break;
            case 4: header.crc = value; break;
            default: break;
        }
    }
    return header;
}

/// Whether the levels say that each of `values` is there.
bool all_there(std::span<const std::byte> levels, std::size_t values) {
    Reader in(levels);
    std::size_t seen = 0;
    while (in.ok() && seen < values) {
        const std::uint32_t head = in.uvarint();
        std::size_t count = head >> 1;
        if ((head & 1) == 0) {
            if (in.uint8() != 1) {
                return false;
            }
        } else {
            const auto bits = in.span(count);
            count = std::min(bits.size() * 8, values - seen);
            for (std::size_t i = 0; i < count; ++i) {
                if ((std::to_integer<unsigned>(bits[i / 8]) >> (i % 8) & 1) == 0) {
                    return false;
                }
            }
        }
        if (count == 0) {
            return false;
        }
        seen += std::min(count, values - seen);
    }
    return in.ok();
}

/// The next bytes that begin with their length.
std::optional<std::span<const std::byte>> take_framed(std::span<const std::byte>& in) {
    if (in.size() < sizeof(std::uint32_t)) {
        return std::nullopt;
    }
    const std::size_t size = load_le<std::uint32_t>(in.data());
    in = in.subspan(sizeof(std::uint32_t));
    if (size > in.size()) {
        return std::nullopt;
    }
    const auto framed = in.first(size);
    in = in.subspan(size);
    return framed;
}

Status find_in_page(
    std::span<const std::byte> page,
    const PageHeader& header,
    std::vector<std::span<const std::byte>>& out
) {
    if (header.crc.has_value() && codec::crc32(page) != static_cast<std::uint32_t>(*header.crc)) {
        return corrupt("the page of row {} fails its checksum", out.size());
    }
    const auto values = static_cast<std::size_t>(header.values);
    const auto levels = take_framed(page);
    if (!levels.has_value() || !all_there(*levels, values)) {
        return corrupt("the page of row {} has other definition levels than all 1", out.size());
    }
    for (std::size_t i = 0; i < values; ++i) {
        const auto value = take_framed(page);
        if (!value.has_value()) {
            return corrupt("row {} lies beyond its page's end", out.size());
        }
        out.push_back(*value);
    }
    return {};
}

}  // namespace

Result<std::vector<std::span<const std::byte>>> find_plain_values(
    std::span<const std::byte> chunk, std::size_t rows
) {
    std::vector<std::span<const std::byte>> out;
    out.reserve(rows);
    while (out.size() < rows) {
        Reader in(chunk);
        const PageHeader header = read_header(in);
        if (!in.ok() || !header.is_known()) {
            return unsupported("the page of row {} is not plain", out.size());
        }
        if (header.values < 0 || static_cast<std::size_t>(header.values) > rows - out.size() ||
            header.size < 0 || static_cast<std::size_t>(header.size) > in.remaining()) {
            return corrupt(
                "the page of row {} has {} rows of {} in {} bytes of {}",
                out.size(),
                header.values,
                rows - out.size(),
                header.size,
                in.remaining()
            );
        }
        const auto size = static_cast<std::size_t>(header.size);
        LKS_TRY(find_in_page(in.span(size), header, out));
        chunk = chunk.subspan(in.position());
    }
    return out;
}

}  // namespace lakestream::table
