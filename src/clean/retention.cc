// SPDX-License-Identifier: Apache-2.0
// Kafka's rules of retention.
#include "clean/retention.h"

#include <charconv>
#include <limits>
#include <string>
#include <string_view>

namespace lakestream::clean {

namespace {

/// A configuration's number, or the default; below 0: no limit.
std::int64_t number(
    const catalog::Properties& properties, const std::string& name, std::int64_t otherwise
) {
    const auto found = properties.find(name);
    if (found == properties.end()) {
        return otherwise;
    }
    const std::string& text = found->second;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

bool deletes(const catalog::Properties& properties) {
    const auto policy = properties.find("cleanup.policy");
    return policy == properties.end() || policy->second.find("delete") != std::string::npos;
}

}  // namespace

RetentionPolicy retention_of(const catalog::Properties& properties, const CleanSettings& defaults) {
    RetentionPolicy policy;
    if (!deletes(properties)) {
        return policy;
    }
    const std::int64_t time =
        number(properties, "retention.ms", defaults.retention_time / std::chrono::milliseconds(1));
    const std::int64_t bytes = number(properties, "retention.bytes", defaults.retention_bytes);
    // Longer than a Duration holds is for ever.
    constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max() / 1'000'000;
    if (time >= 0 && time <= longest) {
        policy.time = std::chrono::milliseconds(time);
    }
    if (bytes >= 0) {
        policy.bytes = static_cast<std::uint64_t>(bytes);
    }
    return policy;
}

bool Expiry::expires(const log::WalkRecord& record) const {
    if (policy_.time.has_value()) {
        const auto& extension = record.value.extension;
        const bool dated = extension.has_value() && extension->max_timestamp >= 0;
        const std::int64_t newest = dated ? extension->max_timestamp : to_ms(record.created);
        // No overflow: both are times that came from outside.
        const std::int64_t oldest = to_ms(now_) - *policy_.time / std::chrono::milliseconds(1);
        if (newest < oldest) {
            return true;
        }
    }
    return policy_.bytes.has_value() && total_ >= record.cumulative &&
           static_cast<std::uint64_t>(total_ - record.cumulative) >= *policy_.bytes;
}

}  // namespace lakestream::clean
