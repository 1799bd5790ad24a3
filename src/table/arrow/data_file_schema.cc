// SPDX-License-Identifier: Apache-2.0
// How data files are laid out.
#include "table/arrow/data_file_schema.h"

#include <vector>

#include "table/arrow/arrow_io.h"

namespace lakestream::table {
namespace {

using parquet::LogicalType;
using parquet::Repetition;
using parquet::Type;
using parquet::schema::GroupNode;
using parquet::schema::NodePtr;
using parquet::schema::PrimitiveNode;

NodePtr leaf(
    const char* name,
    Repetition::type repetition,
    Type::type type,
    std::int32_t id,
    const std::shared_ptr<const LogicalType>& meaning = LogicalType::None()
) {
    return PrimitiveNode::Make(name, repetition, meaning, type, -1, id);
}

NodePtr headers() {
    const NodePtr header = GroupNode::Make(
        "element",
        Repetition::REQUIRED,
        {leaf(
             "key",
             Repetition::REQUIRED,
             Type::BYTE_ARRAY,
             FieldId::header_key,
             LogicalType::String()
         ),
         leaf("value", Repetition::OPTIONAL, Type::BYTE_ARRAY, FieldId::header_value)},
        nullptr,
        FieldId::header
    );
    const NodePtr list = GroupNode::Make("list", Repetition::REPEATED, {header});
    return GroupNode::Make(
        "kafka_headers", Repetition::REQUIRED, {list}, LogicalType::List(), FieldId::headers
    );
}

}  // namespace

std::shared_ptr<GroupNode> data_file_schema() {
    const auto time = LogicalType::Timestamp(true, LogicalType::TimeUnit::MICROS);
    const NodePtr root = GroupNode::Make(
        "table",
        Repetition::REQUIRED,
        {leaf("kafka_partition", Repetition::REQUIRED, Type::INT32, FieldId::partition),
         leaf("kafka_offset", Repetition::REQUIRED, Type::INT64, FieldId::offset),
         leaf("kafka_timestamp", Repetition::REQUIRED, Type::INT64, FieldId::timestamp, time),
         leaf("kafka_key", Repetition::OPTIONAL, Type::BYTE_ARRAY, FieldId::key),
         leaf("value", Repetition::OPTIONAL, Type::BYTE_ARRAY, FieldId::value),
         headers()}
    );
    return std::static_pointer_cast<GroupNode>(root);
}

std::shared_ptr<parquet::WriterProperties> data_file_properties(int zstd_level) {
    // Dictionaries only where few values repeat much: elsewhere they cost a hash for each value and
    // are dropped in the end. Plain for the rest, since not all table readers know delta encodings.
    return parquet::WriterProperties::Builder()
        .memory_pool(pool())
        ->version(parquet::ParquetVersion::PARQUET_2_6)
        ->created_by(LKS_CREATED_BY)
        ->compression(parquet::Compression::ZSTD)
        ->compression_level(zstd_level)
        ->disable_dictionary()
        ->enable_dictionary("kafka_partition")
        ->enable_dictionary("kafka_headers.list.element.key")
        ->enable_statistics()
        ->enable_write_page_index()
        ->enable_page_checksum()
        ->set_sorting_columns(
            {{.column_idx = Leaf::partition, .descending = false, .nulls_first = true},
             {.column_idx = Leaf::offset, .descending = false, .nulls_first = true}}
        )
        ->build();
}

}  // namespace lakestream::table
