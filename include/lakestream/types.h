// SPDX-License-Identifier: Apache-2.0
// Strong ids and offsets of the Lakestream specification (spec section 1.2): one class per meaning.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace lakestream {

/// A number with a meaning of its own. The tag is the derived class, so two types never share one.
template <class Self, class Rep>
struct StrongNumber {
    Rep v{};

    constexpr StrongNumber() = default;
    constexpr explicit StrongNumber(Rep value) : v(value) {}
    friend constexpr auto operator<=>(const StrongNumber&, const StrongNumber&) = default;
};

/// Identity of one log (one partition of a stream). Never used again once fenced. Range: 0 ..
/// 2^63-1.
struct LogId : StrongNumber<LogId, std::int64_t> {
    using StrongNumber::StrongNumber;
};

/// Position of a record in its log; the first record has 0. Ranges are half open.
struct Offset : StrongNumber<Offset, std::int64_t> {
    using StrongNumber::StrongNumber;
    friend constexpr Offset operator+(Offset a, std::int64_t n) { return Offset(a.v + n); }
    friend constexpr Offset operator-(Offset a, std::int64_t n) { return Offset(a.v - n); }
    friend constexpr std::int64_t operator-(Offset a, Offset b) { return a.v - b.v; }
};

/// Half-open range of offsets.
struct OffsetRange {
    Offset begin;
    Offset end;

    constexpr std::int64_t count() const { return end - begin; }
    constexpr bool empty() const { return end <= begin; }
    constexpr bool contains(Offset o) const { return begin <= o && o < end; }
    friend constexpr bool operator==(const OffsetRange&, const OffsetRange&) = default;
};

}  // namespace lakestream

template <>
struct std::hash<lakestream::LogId> {
    std::size_t operator()(lakestream::LogId id) const noexcept {
        return std::hash<std::int64_t>{}(id.v);
    }
};
