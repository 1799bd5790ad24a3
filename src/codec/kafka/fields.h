// SPDX-License-Identifier: Apache-2.0
// Field tables of the generated messages, for code that treats all messages alike: tests, dumps.
#pragma once

#include <string_view>

#include "codec/kafka/version_range.h"

namespace lakestream::codec::kafka {

/// One field of a message or of a struct inside one.
struct FieldInfo {
    std::string_view name;  // as Kafka's JSON form writes it: topicId
    VersionRange versions;  // where the field exists; elsewhere it has its default
    VersionRange nullable;  // where it may be null
    VersionRange tagged;    // where it travels among the tagged fields, left out when default
    bool ignorable;         // where it does not exist, a value is dropped; else it is an error
};

/// `FieldsOf<Struct>::visit(visitor)` calls `visitor(FieldInfo, &Struct::member)` for each field in
/// wire order. Specialised in gen/*_fields.h for every generated struct.
template <class Struct>
struct FieldsOf;

template <class T>
concept HasFields = requires { FieldsOf<T>::visit([](const FieldInfo&, auto) {}); };

}  // namespace lakestream::codec::kafka
