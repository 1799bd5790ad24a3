// SPDX-License-Identifier: Apache-2.0
// Topics: Kafka's view of the catalog's streams: names and ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/catalog.h"
#include "codec/kafka/uuid.h"
#include "rt/task.h"

namespace lakestream::kafka {

/// The namespace of the streams that are Kafka topics.
inline constexpr std::string_view topic_namespace = "default";

inline constexpr std::size_t topic_name_bytes_max = 249;

/// Kafka's rules: 1 to 249 of [A-Za-z0-9._-], and neither "." nor "..". Errors: `invalid_argument`.
Status check_topic_name(std::string_view name);

/// Topics that Kafka keeps for itself.
bool is_internal_topic(std::string_view name);

codec::kafka::Uuid topic_id(const catalog::StreamInfo& stream);

/// By name, or by id when the name is empty and the id is not zero. Errors: of Catalog::load.
rt::Task<Result<catalog::StreamPtr>> load_topic(
    catalog::Catalog& catalog, std::string name, codec::kafka::Uuid id
);

/// A topic that has this name but for `.` and `_`, which Kafka does not tell apart in the names of
/// metrics; empty when there is none, or when the topic itself exists. Cost: none for a name
/// without either character, else of Catalog::list.
rt::Task<Result<std::string>> find_collision(catalog::Catalog& catalog, std::string name);

}  // namespace lakestream::kafka
