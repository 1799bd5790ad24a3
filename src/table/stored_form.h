// SPDX-License-Identifier: Apache-2.0
// What a table column cannot hold of a Kafka record, and what it holds instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace lakestream::table {

/// Microseconds of a record's time; the times a 64-bit count of microseconds cannot hold become the
/// nearest millisecond it can (years -290308 and 294247). No timestamp (-1) stays -1 ms.
constexpr std::int64_t stored_micros(std::int64_t timestamp_ms) {
    constexpr std::int64_t ms_max = std::numeric_limits<std::int64_t>::max() / 1000;
    return std::clamp(timestamp_ms, -ms_max, ms_max) * 1000;
}

/// A header's key as text: `key` itself when it is UTF-8, else a copy in `scratch` with U+FFFD for
/// each maximal part that is not (as Kafka's Java clients and the Unicode standard do it).
std::string_view stored_text(std::string_view key, std::string& scratch);

}  // namespace lakestream::table
