// SPDX-License-Identifier: Apache-2.0
// The rare paths of Reader.
#include "codec/reader.h"

#include "base/result.h"

namespace lakestream::codec {

Status Reader::status(std::string_view what, ErrorCode code) const {
    if (ok()) {
        return {};
    }
    return make_error(code, "{} is cut short or malformed at byte {}", what, position());
}

std::uint64_t Reader::long_uvarint(unsigned bits) noexcept {
    std::uint64_t value = 0;
    const std::byte* next = at_;
    for (unsigned shift = 0; shift < bits && next != end_; shift += 7) {
        const auto byte = std::to_integer<std::uint64_t>(*next++);
        const std::uint64_t group = byte & 0x7f;
        if (bits - shift < 7 && (group >> (bits - shift)) != 0) {
            break;  // bits beyond the number's size
        }
        value |= group << shift;
        if (byte < 0x80) {
            at_ = next;
            return value;
        }
    }
    fail();
    return 0;
}

}  // namespace lakestream::codec
