// SPDX-License-Identifier: Apache-2.0
// UTF-8 with replacement.
#include "table/stored_form.h"

#include <cstddef>

namespace lakestream::table {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct Unit {
    std::size_t bytes = 1;
    bool valid = false;
};

/// What stands at the front of `text`: a character, or the longest start of one.
Unit first_unit(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) {
        return {.bytes = 1, .valid = true};
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return {};
    }
    const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    // The second byte rules out overlong forms, surrogates and what is above U+10FFFF.
    unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (std::size_t i = 1; i < size; ++i) {
        if (i >= text.size() || byte(i) < low || byte(i) > high) {
            return {.bytes = i, .valid = false};
        }
        low = 0x80;
        high = 0xBF;
    }
    return {.bytes = size, .valid = true};
}

}  // namespace

std::string_view stored_text(std::string_view key, std::string& scratch) {
    std::size_t good = 0;
    while (good < key.size()) {
        const Unit unit = first_unit(key.substr(good));
        if (!unit.valid) {
            break;
        }
        good += unit.bytes;
    }
    if (good == key.size()) {
        return key;
    }
    scratch.assign(key.substr(0, good));
    for (std::string_view rest = key.substr(good); !rest.empty();) {
        const Unit unit = first_unit(rest);
        scratch += unit.valid ? rest.substr(0, unit.bytes) : replacement;
        rest.remove_prefix(unit.bytes);
    }
    return scratch;
}

}  // namespace lakestream::table
