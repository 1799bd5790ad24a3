// SPDX-License-Identifier: Apache-2.0
// What the Parquet half of a compacted pair says of itself (docs/formats/compacted-object.md).
#pragma once

#include <string_view>

namespace lakestream::table {

inline constexpr const char* compacted_message = "KafkaMessage";
inline constexpr const char* compacted_column = "payload";

inline constexpr const char* compacted_avro_schema =
    R"({"type":"record","name":"KafkaMessage","fields":[{"name":"payload",)"
    R"("type":["null","bytes"],"default":null}]})";

inline constexpr std::string_view entry_format_key = "entrySerDeType";
inline constexpr std::string_view entry_format_kafka = "KAFKA_BATCHED_RAW_PARQUET";

}  // namespace lakestream::table
