// SPDX-License-Identifier: Apache-2.0
// Which stream a log belongs to, from its registration.
#pragma once

#include <cstdint>
#include <string_view>

#include "catalog/catalog.h"
#include "meta/metadata_store.h"

namespace lakestream::catalog {

struct LogOwner {
    StreamName stream;
    std::int32_t partition = 0;

    friend bool operator==(const LogOwner&, const LogOwner&) = default;
};

/// From `lakestream-native/<namespace>/<name>/partition-<i>`. Errors: `corrupt`.
Result<LogOwner> parse_mapping_key(std::string_view key);

/// Errors: `not_found` (no such log, or one without a name), `corrupt`, those of the store. Cost:
/// one get.
rt::Task<Result<LogOwner>> find_log_owner(meta::MetadataStore& store, LogId log);

}  // namespace lakestream::catalog
