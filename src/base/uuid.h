// SPDX-License-Identifier: Apache-2.0
// UUIDs (RFC 9562) and their text, 8-4-4-4-12 hexadecimal digits.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lakestream {

using Uuid = std::array<std::byte, 16>;

/// One of version 4 from 16 random bytes.
inline Uuid make_uuid(Uuid random) {
    Uuid uuid = random;
    uuid[6] = (uuid[6] & std::byte{0x0f}) | std::byte{0x40};
    uuid[8] = (uuid[8] & std::byte{0x3f}) | std::byte{0x80};
    return uuid;
}

inline std::string uuid_text(const Uuid& uuid) {
    std::string out;
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            out += '-';
        }
        out += fmt::format("{:02x}", static_cast<unsigned>(uuid[i]));
    }
    return out;
}

/// None when the text is no UUID.
inline std::optional<Uuid> parse_uuid(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    Uuid uuid{};
    std::size_t nibbles = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (c != '-') {
                return std::nullopt;
            }
            continue;
        }
        const std::size_t value = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
        if (value == std::string_view::npos || nibbles == 32) {
            return std::nullopt;
        }
        uuid[nibbles / 2] |= static_cast<std::byte>(nibbles % 2 == 0 ? value << 4 : value);
        ++nibbles;
    }
    return nibbles == 32 ? std::optional(uuid) : std::nullopt;
}

}  // namespace lakestream
