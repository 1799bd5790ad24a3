// SPDX-License-Identifier: Apache-2.0
// Records as lines of text or JSON, both ways.
//
// JSON: {"topic","partition","offset","timestamp","key","value","headers":[{"key","value"}]}; what
// is not UTF-8 is Base64 under key_base64 and value_base64. The way in takes what the way out
// writes; only `value` has to be there, and topic and offset mean nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/record_reader.h"
#include "lakestream/types.h"

namespace lakestream::cli {

/// Where a record is.
struct RecordPlace {
    std::string_view topic;
    std::int32_t partition;
    Offset offset;
};

/// Append the value and a line's end; with `keyed`, KEY<TAB> in front.
void append_text(std::string& out, const codec::Record& record, bool keyed);

/// Append one line of JSON.
void append_json(std::string& out, const RecordPlace& place, const codec::Record& record);

/// A record that somebody wrote as JSON.
struct InputRecord {
    std::optional<std::int32_t> partition;
    std::optional<std::int64_t> timestamp;
    std::optional<std::string> key;
    std::optional<std::string> value;
    std::vector<std::pair<std::string, std::optional<std::string>>> headers;
};

/// Errors: `invalid_argument`: what of the line is not as above.
Result<InputRecord> parse_json_record(std::string_view line);

}  // namespace lakestream::cli
