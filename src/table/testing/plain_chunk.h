// SPDX-License-Identifier: Apache-2.0
// Column chunks of plain pages, as other writers make them, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/endian.h"
#include "codec/crc32.h"

namespace lakestream::table {

struct PlainChunk {
    using Field = std::pair<int, std::int32_t>;

    enum class Levels : std::uint8_t { run, bits };

    bool checksums = true;
    bool statistics = false;
    Levels levels = Levels::run;
    std::string bytes;

    static void put_varint(std::string& out, std::uint32_t value) {
        for (; value >= 0x80; value >>= 7) {
            out += static_cast<char>(value | 0x80);
        }
        out += static_cast<char>(value);
    }

    /// Of int32, none of them more than 15 behind the last.
    static void put_fields(std::string& out, std::initializer_list<Field> fields, int last = 0) {
        for (const auto& [field, value] : fields) {
            out += static_cast<char>((field - last) << 4 | 5);
            put_varint(
                out,
                static_cast<std::uint32_t>(value) << 1 ^ static_cast<std::uint32_t>(value >> 31)
            );
            last = field;
        }
    }

    static void put_framed(std::string& out, std::string_view body) {
        std::byte size[4];
        store_le(size, static_cast<std::uint32_t>(body.size()));
        out.append(reinterpret_cast<const char*>(size), sizeof(size));
        out += body;
    }

    /// A page of those values.
    void add(std::span<const std::string> values) {
        const auto count = static_cast<std::uint32_t>(values.size());
        std::string runs;
        if (levels == Levels::run) {
            put_varint(runs, count << 1);
            runs += '\1';
        } else {
            const std::uint32_t groups = (count + 7) / 8;
            put_varint(runs, groups << 1 | 1);
            runs.append(groups, '\xff');
        }
        std::string data;
        put_framed(data, runs);
        for (const std::string& value : values) {
            put_framed(data, value);
        }
        const auto size = static_cast<std::int32_t>(data.size());
        put_fields(bytes, {{1, 0}, {2, size}, {3, size}});
        int last = 3;
        if (checksums) {
            const auto crc = codec::crc32(std::as_bytes(std::span(data)));
            put_fields(bytes, {{4, static_cast<std::int32_t>(crc)}}, last);
            last = 4;
        }
        bytes += static_cast<char>((5 - last) << 4 | 12);
        put_fields(bytes, {{1, static_cast<std::int32_t>(count)}, {2, 0}, {3, 3}, {4, 3}});
        if (statistics) {  // binary, int64
            bytes += "\x1c\x18\x03max\x26\x02";
            bytes += '\0';
        }
        bytes += '\0';
        bytes += '\0';
        bytes += data;
    }
};

}  // namespace lakestream::table
