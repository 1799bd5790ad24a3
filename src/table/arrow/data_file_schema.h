// SPDX-License-Identifier: Apache-2.0
// Columns of a table's data file (docs/formats/table-data-file.md).
#pragma once

#include <parquet/properties.h>
#include <parquet/schema.h>

#include <cstdint>
#include <memory>

namespace lakestream::table {

/// Iceberg field ids. The leaves come in this order in the file.
struct FieldId {
    static constexpr std::int32_t partition = 1;
    static constexpr std::int32_t offset = 2;
    static constexpr std::int32_t timestamp = 3;
    static constexpr std::int32_t key = 4;
    static constexpr std::int32_t value = 5;
    static constexpr std::int32_t headers = 6;
    static constexpr std::int32_t header = 7;
    static constexpr std::int32_t header_key = 8;
    static constexpr std::int32_t header_value = 9;
};

/// Places of the leaves in files that we write.
enum Leaf : int { partition, offset, timestamp, key, value, header_key, header_value };

std::shared_ptr<parquet::schema::GroupNode> data_file_schema();
std::shared_ptr<parquet::WriterProperties> data_file_properties(int zstd_level);

}  // namespace lakestream::table
