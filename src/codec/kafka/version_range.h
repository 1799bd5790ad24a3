// SPDX-License-Identifier: Apache-2.0
// VersionRange: the versions of a Kafka message in which something is so.
#pragma once

#include <cstdint>

namespace lakestream::codec::kafka {

/// Versions first .. last, both included as Kafka writes them. Default: empty.
struct VersionRange {
    std::int16_t first = 0;
    std::int16_t last = -1;

    constexpr bool empty() const { return last < first; }
    constexpr bool contains(int version) const { return first <= version && version <= last; }
    bool operator==(const VersionRange&) const = default;
};

}  // namespace lakestream::codec::kafka
