// SPDX-License-Identifier: Apache-2.0
// Where a log starts: what is stored of it, and how it grows (docs/protocols/cleaning.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lakestream/types.h"
#include "meta/metadata_store.h"
#include "rt/task.h"

namespace lakestream::log {

/// `/lks/start/<log id>`, on the log's shard: decimal text, as the other engines' mark, but it may
/// lie beyond the last index record.
inline std::string start_key(LogId log) {
    return "/lks/start/" + std::to_string(log.v);
}

/// The larger of our start and of the other engines' mark; 0 when there is neither. Errors: as
/// MetadataStore::get; `corrupt`. Cost: 2 gets.
rt::Task<Result<Offset>> load_start(meta::MetadataStore& store, LogId log);

/// The start becomes `start` unless it is further already; then the mark follows, which stays at or
/// before the begin of the last index record. Returns the start that is stored. Errors: as
/// MetadataStore::write; `conflict` (others trim it all the time). Cost: 3 reads, 1 or 2 writes;
/// 2 reads when nothing happens.
rt::Task<Result<Offset>> raise_start(meta::MetadataStore& store, LogId log, Offset start);

/// The log whose start or mark has this key.
std::optional<LogId> trimmed_log(std::string_view key);

}  // namespace lakestream::log
