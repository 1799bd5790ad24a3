// SPDX-License-Identifier: Apache-2.0
// Rows of the embedded store: what is written under which key (docs/formats/embedded-metadata.md).
//
//     'c'                             counters     version 1, next offset int64, next version int64
//     'e' session int64, key          (empty)      the record ends with the session
//     'r' key                         record       version 1, flags uint8, ...
//     's' session int64               session      version 1, timeout uvarint ms, identity text
//
// Keys are encoded (meta/key_order.h), integers big-endian, so rows stand in the order of the keys.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/slices.h"
#include "lakestream/result.h"
#include "meta/shard_state.h"

namespace lakestream::meta::embedded {

inline constexpr char counters_tag = 'c';
inline constexpr char link_tag = 'e';
inline constexpr char record_tag = 'r';
inline constexpr char session_tag = 's';

std::string record_row(std::string_view encoded_key);
std::string session_row(SessionId session);
std::string link_row(SessionId session, std::string_view encoded_key);
/// The first row behind all rows of a tag.
std::string rows_end(char tag);

/// The session of a session row or link row, and the encoded key of a link row. `corrupt`.
Result<std::pair<SessionId, std::string_view>> parse_session_row(std::string_view row);

/// Everything of a record but its value, which follows it to the row's end.
Bytes encode_record_header(const StoredRecord& record);
/// `corrupt`, also for a version that is not known. Copies the value.
Result<StoredRecord> decode_record(std::string_view row);
/// Without looking at value, identity and partition key.
Result<RecordHead> decode_record_head(std::string_view row);

Bytes encode_counters(ShardCounters counters);
Result<ShardCounters> decode_counters(std::string_view row);

Bytes encode_session(const Session& session);
/// Without its keys.
Result<Session> decode_session(std::string_view row);

}  // namespace lakestream::meta::embedded
