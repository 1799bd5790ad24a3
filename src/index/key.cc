// SPDX-License-Identifier: Apache-2.0
// Formatting and parsing index keys.
#include "index/key.h"

#include <charconv>
#include <limits>
#include <optional>

#include "base/format.h"

namespace lakestream::index {

namespace {

constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t digits = 20;

std::optional<std::int64_t> parse_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.starts_with('-')) {
        return std::nullopt;
    }
    return value;
}

}  // namespace

std::string IndexKey::to_string() const {
    return fmt::format("{:020}-{:020}-{:020}", log.v, end.v, cumulative);
}

Result<IndexKey> parse_key(std::string_view key) {
    if (key.size() == key_bytes && key[digits] == '-' && key[2 * digits + 1] == '-') {
        const auto log = parse_number(key.substr(0, digits));
        const auto end = parse_number(key.substr(digits + 1, digits));
        const auto cumulative = parse_number(key.substr(2 * digits + 2));
        if (log && end && cumulative) {
            return IndexKey{LogId(*log), Offset(*end), *cumulative};
        }
    }
    return corrupt("'{}' is no key of an index record", key);
}

Result<IndexKey> parse_key(LogId log, std::string_view key) {
    const IndexKey parsed = LKS_TRY(parse_key(key));
    if (parsed.log != log) {
        return corrupt("index record {} does not belong to log {}", key, log);
    }
    return parsed;
}

std::string partition_key(LogId log) {
    return std::to_string(log.v);
}

std::string sequence_prefix(LogId log) {
    return fmt::format("{:020}", log.v);
}

std::string bound_first(LogId log) {
    return IndexKey{log, Offset(0), 0}.to_string();
}

std::string bound_after(LogId log, Offset offset) {
    return IndexKey{log, offset, max}.to_string();
}

std::string bound_last(LogId log) {
    return IndexKey{log, Offset(max), max}.to_string();
}

std::string fence_key(LogId log) {
    return fmt::format("/stream-write-fences/{}", log);
}

std::string mark_key(LogId log) {
    return fmt::format("/mark-deleted-offsets/{}", log);
}

Result<Offset> parse_mark(const Bytes& value) {
    if (const auto offset = parse_number(value.view())) {
        return Offset(*offset);
    }
    return corrupt("'{}' is no first live offset", value.view());
}

}  // namespace lakestream::index
