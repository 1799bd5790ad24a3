// SPDX-License-Identifier: Apache-2.0
// Any text is table metadata or an error; metadata round-trips, and no decision crashes on it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "table/iceberg/commit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream::table::iceberg;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto position = parse_position(text); position.ok()) {
        LKS_ASSERT(*parse_position(to_json(*position)) == *position);
    }
    auto metadata = parse_metadata(text);
    if (!metadata.ok()) {
        return 0;
    }
    const std::string json = to_json(*metadata);
    const auto again = parse_metadata(json);
    LKS_ASSERT(again.ok() && to_json(*again) == json);
    static_cast<void>(plan_append(*metadata, {.stream = "s"}, {}).verdict);
    expire_snapshots(*metadata, retention_of(*metadata, {.age_ms_max = 1000, .count_max = 3}));
    LKS_ASSERT(parse_metadata(to_json(*metadata)).ok());
    return 0;
}
