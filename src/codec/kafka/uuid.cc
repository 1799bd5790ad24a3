// SPDX-License-Identifier: Apache-2.0
// The base64url text of a Uuid.
#include "codec/kafka/uuid.h"

#include <cstdint>

#include "base/result.h"

namespace lakestream::codec::kafka {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t text_chars = 22;  // 128 bits in sixes; the last character has 4 bits to spare

}  // namespace

std::string Uuid::to_string() const {
    std::string text;
    text.reserve(text_chars);
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const std::byte byte : bytes) {
        bits = bits << 8 | std::to_integer<std::uint32_t>(byte);
        for (held += 8; held >= 6; held -= 6) {
            text.push_back(alphabet[bits >> (held - 6) & 0x3f]);
        }
    }
    text.push_back(alphabet[bits << (6 - held) & 0x3f]);
    return text;
}

Result<Uuid> Uuid::parse(std::string_view text) {
    if (text.size() != text_chars) {
        return invalid_argument(
            "\"{}\" is not an id: {} characters are expected", text, text_chars
        );
    }
    Uuid id;
    std::size_t at = 0;
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        const std::size_t six = alphabet.find(c);
        if (six == std::string_view::npos) {
            return invalid_argument("\"{}\" is not an id: it is not base64url", text);
        }
        bits = bits << 6 | static_cast<std::uint32_t>(six);
        held += 6;
        if (held >= 8) {
            held -= 8;
            id.bytes[at++] = static_cast<std::byte>(bits >> held & 0xff);
        }
    }
    if ((bits & ((1U << held) - 1)) != 0) {
        return invalid_argument("\"{}\" is not an id: its last character says too much", text);
    }
    return id;
}

}  // namespace lakestream::codec::kafka
