// SPDX-License-Identifier: Apache-2.0
// Uuid: Kafka's 16-byte identifiers (topics, directories) and their text form.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "lakestream/result.h"

namespace lakestream::codec::kafka {

/// 16 bytes in the order of the wire. All zero means "none". Ordered as unsigned bytes.
struct Uuid {
    std::array<std::byte, 16> bytes{};

    /// As Kafka prints it: 22 characters of base64url without padding.
    std::string to_string() const;

    /// The inverse of to_string(). Exactly its form is accepted, so that one id has one text; else
    /// invalid_argument.
    static Result<Uuid> parse(std::string_view text);

    bool is_zero() const noexcept { return *this == Uuid{}; }
    auto operator<=>(const Uuid&) const = default;
};

}  // namespace lakestream::codec::kafka

template <>
struct std::hash<lakestream::codec::kafka::Uuid> {
    std::size_t operator()(const lakestream::codec::kafka::Uuid& id) const noexcept {
        return std::hash<std::string_view>{
        }({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
    }
};
