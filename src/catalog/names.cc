// SPDX-License-Identifier: Apache-2.0
// Rules for names, partitions and properties.
#include "catalog/names.h"

#include <algorithm>

namespace lakestream::catalog {

namespace {

constexpr std::size_t name_bytes_max = 249;
constexpr std::size_t properties_bytes_max = 256 << 10;

Status check_name(std::string_view name, std::string_view what) {
    constexpr auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    };
    if (name.empty() || name.size() > name_bytes_max) {
        return invalid_argument(
            "{} '{}' has {} bytes; 1 to {} are allowed", what, name, name.size(), name_bytes_max
        );
    }
    if (name == "." || name == ".." || !std::ranges::all_of(name, allowed)) {
        return invalid_argument(
            "{} '{}' is not allowed: use letters, digits, '.', '-' and '_'", what, name
        );
    }
    return {};
}

bool looks_like_partition(std::string_view name) {
    constexpr std::string_view mark = "-partition-";
    const std::size_t at = name.rfind(mark);
    return at != std::string_view::npos && at + mark.size() < name.size() &&
           name.find_first_not_of("0123456789", at + mark.size()) == std::string_view::npos;
}

}  // namespace

Status validate(const StreamSpec& spec) {
    LKS_TRY(check_name(spec.name.ns, "namespace"));
    LKS_TRY(check_name(spec.name.name, "stream name"));
    if (spec.name.ns.starts_with('_')) {
        return invalid_argument(
            "namespace '{}' is reserved: begin with another letter", spec.name.ns
        );
    }
    if (looks_like_partition(spec.name.name)) {
        return invalid_argument(
            "stream name '{}' must not end like a partition, '-partition-' and a number",
            spec.name.name
        );
    }
    if (spec.partitions < 1 || spec.partitions > partitions_max) {
        return invalid_argument(
            "{} partitions asked for; 1 to {} are allowed", spec.partitions, partitions_max
        );
    }
    std::size_t bytes = 0;
    for (const auto& [key, value] : spec.properties) {
        bytes += key.size() + value.size();
    }
    if (bytes > properties_bytes_max) {
        return invalid_argument(
            "properties of {} bytes; {} are allowed", bytes, properties_bytes_max
        );
    }
    return {};
}

}  // namespace lakestream::catalog
