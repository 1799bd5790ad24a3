// SPDX-License-Identifier: Apache-2.0
// Checked access to JSON.
#include "table/iceberg/json_fields.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/result.h"

namespace lakestream::table::iceberg {

namespace {

/// Whether lists and objects are nested no deeper than any document of ours: writing recurses.
bool shallow(std::string_view text) {
    constexpr int depth_max = 64;
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size() && depth <= depth_max; ++i) {
        const char c = text[i];
        if (in_string && c == '\\') {
            ++i;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '{' || c == '[')) {
            ++depth;
        } else if (!in_string && (c == '}' || c == ']')) {
            --depth;
        }
    }
    return depth <= depth_max;
}

}  // namespace

Result<Json> parse_object(std::string_view text, std::string_view what) {
    Json json = shallow(text) ? Json::parse(text, nullptr, false) : Json();
    if (!json.is_object()) {
        return corrupt("{} is no JSON object", what);
    }
    return json;
}

std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json& field(const Json& json, const char* name) {
    static const Json null;
    const auto found = json.find(name);
    return found == json.end() ? null : *found;
}

Result<std::optional<std::int64_t>> optional_integer_field(const Json& json, const char* name) {
    const Json& value = field(json, name);
    if (value.is_null()) {
        return std::optional<std::int64_t>();
    }
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > largest) {
        return corrupt("field {} is too large", name);
    }
    if (!value.is_number_integer()) {
        return corrupt("field {} is no integer", name);
    }
    return std::optional(value.get<std::int64_t>());
}

Result<std::int64_t> integer_field(const Json& json, const char* name) {
    const auto value = LKS_TRY(optional_integer_field(json, name));
    if (!value) {
        return corrupt("field {} is missing", name);
    }
    return *value;
}

Result<std::int32_t> int32_field(const Json& json, const char* name) {
    const std::int64_t value = LKS_TRY(integer_field(json, name));
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) {
        return corrupt("field {} is {}, no 32-bit integer", name, value);
    }
    return static_cast<std::int32_t>(value);
}

Result<std::string> text_field(const Json& json, const char* name) {
    const Json& value = field(json, name);
    if (!value.is_string()) {
        return corrupt("field {} is no text", name);
    }
    return value.get<std::string>();
}

}  // namespace lakestream::table::iceberg
