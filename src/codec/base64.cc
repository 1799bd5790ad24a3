// SPDX-License-Identifier: Apache-2.0
// Six bits a character.
#include "codec/base64.h"

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace lakestream::codec {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t none = 0xff;

constexpr std::array<std::uint8_t, 256> make_values() {
    std::array<std::uint8_t, 256> values{};
    values.fill(none);
    for (std::size_t i = 0; i < alphabet.size(); ++i) {
        values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
    }
    return values;
}

constexpr std::array<std::uint8_t, 256> values = make_values();

}  // namespace

std::string base64_encode(std::span<const std::byte> bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t word = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            word = word << 8 | (k < count ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
        }
        for (std::size_t k = 0; k < 4; ++k) {
            text += k <= count ? alphabet[word >> (18 - 6 * k) & 63] : '=';
        }
    }
    return text;
}

Result<Bytes> base64_decode(std::string_view text) {
    if (text.size() % 4 != 0) {
        return corrupt("base64 text of {} characters", text.size());
    }
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') {
        ++padding;
    }
    text.remove_suffix(padding);
    std::vector<std::byte> bytes;
    bytes.reserve(text.size() / 4 * 3 + 2);
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        const std::uint8_t value = values[static_cast<unsigned char>(c)];
        if (value == none) {
            return corrupt("base64 text with the character {}", static_cast<int>(c));
        }
        bits = (bits << 6 | value) & 0xffff;
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes.push_back(static_cast<std::byte>(bits >> held));
        }
    }
    if ((bits & ((1U << held) - 1)) != 0) {
        return corrupt("base64 text that ends inside a byte");
    }
    return Bytes::own(std::move(bytes));
}

}  // namespace lakestream::codec
