// SPDX-License-Identifier: Apache-2.0
// Keys of the stream offset index and of what belongs to a log (docs/formats/index-record.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"

namespace lakestream::index {

/// `<log>-<end>-<cumulative size>`, each in 20 digits.
struct IndexKey {
    LogId log;
    Offset end;                   // exclusive
    std::int64_t cumulative = 0;  // payload bytes of the log up to here

    std::string to_string() const;
    friend bool operator==(const IndexKey&, const IndexKey&) = default;
};

inline constexpr std::size_t key_bytes = 62;

/// Errors: `corrupt` (another form).
Result<IndexKey> parse_key(std::string_view key);
/// The same, and it must be of this log: a look-up next to a log's end can meet its neighbour.
Result<IndexKey> parse_key(LogId log, std::string_view key);

/// Of everything that lives with a log: one shard has it all.
std::string partition_key(LogId log);
/// What a sequence put of the log's next index record is given as its key.
std::string sequence_prefix(LogId log);
/// Sorts before the log's first index record.
std::string bound_first(LogId log);
/// Sorts after all records of the log that end at or before `offset`, before all that end later.
std::string bound_after(LogId log, Offset offset);
/// Sorts after all records of the log.
std::string bound_last(LogId log);

/// `/stream-write-fences/<log>`: exists when the log is dead for good.
std::string fence_key(LogId log);
/// `/mark-deleted-offsets/<log>`: decimal text, the first live offset.
std::string mark_key(LogId log);
/// Errors: `corrupt`.
Result<Offset> parse_mark(const Bytes& value);

}  // namespace lakestream::index
