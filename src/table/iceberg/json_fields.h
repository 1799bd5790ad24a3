// SPDX-License-Identifier: Apache-2.0
// Fields of JSON that others wrote, each checked before it is used. Only for .cc files.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "lakestream/result.h"

namespace lakestream::table::iceberg {

using Json = nlohmann::ordered_json;

/// Errors: `corrupt` when the text is no JSON object, or is nested deeper than 64.
Result<Json> parse_object(std::string_view text, std::string_view what);

/// Compact text; broken UTF-8 is replaced.
std::string dump(const Json& json);

/// The field, or null when it is missing or `json` is no object.
const Json& field(const Json& json, const char* name);

// The field's value; the optional ones are absent when it is missing or null.
// Errors: `corrupt`, naming the field.
Result<std::int64_t> integer_field(const Json& json, const char* name);
Result<std::optional<std::int64_t>> optional_integer_field(const Json& json, const char* name);
Result<std::int32_t> int32_field(const Json& json, const char* name);
Result<std::string> text_field(const Json& json, const char* name);

}  // namespace lakestream::table::iceberg
