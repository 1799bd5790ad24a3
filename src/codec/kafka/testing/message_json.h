// SPDX-License-Identifier: Apache-2.0
// Messages as JSON, in the form of Kafka's own JSON converters; bytes as hex.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "codec/kafka/fields.h"
#include "codec/kafka/gen/errors.h"
#include "codec/kafka/uuid.h"
#include "codec/testing/golden.h"
#include "lakestream/bytes.h"

namespace lakestream::codec::kafka::testing {

/// The fields that `version` has; tagged ones only when they are not the default.
template <HasFields T>
nlohmann::json to_json(const T& value, int version);

template <class T>
    requires std::is_arithmetic_v<T>
nlohmann::json to_json(T value, int) {
    return value;
}
inline nlohmann::json to_json(ErrorCode value, int) {
    return static_cast<std::int16_t>(value);
}
inline nlohmann::json to_json(const Uuid& value, int) {
    return value.to_string();
}
inline nlohmann::json to_json(const std::string& value, int) {
    return value;
}
inline nlohmann::json to_json(const Bytes& value, int) {
    return to_hex(value);
}
inline nlohmann::json to_json(const Slices& value, int version) {
    return to_json(value.join(), version);
}
template <class T>
nlohmann::json to_json(const std::vector<T>& value, int version) {
    auto json = nlohmann::json::array();
    for (const T& element : value) {
        json.push_back(to_json(element, version));
    }
    return json;
}
template <class T>
nlohmann::json to_json(const std::optional<T>& value, int version) {
    return value ? to_json(*value, version) : nlohmann::json();
}
template <HasFields T>
nlohmann::json to_json(const T& value, int version) {
    auto json = nlohmann::json::object();
    const T defaults;
    FieldsOf<T>::visit([&](const FieldInfo& info, auto member) {
        const bool left_out = !info.tagged.empty() && value.*member == defaults.*member;
        if (info.versions.contains(version) && !left_out) {
            json[std::string(info.name)] = to_json(value.*member, version);
        }
    });
    return json;
}

}  // namespace lakestream::codec::kafka::testing
