// SPDX-License-Identifier: Apache-2.0
// What our files look like to Parquet: schema, ids, encodings, indexes, footers.
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "objstore/testing/temp_folder.h"
#include "table/files.h"
#include "table/testing/memory_file.h"

namespace lakestream::table {
namespace {

using parquet::Encoding;

class ParquetLayout : public testing::Test {
  protected:
    std::unique_ptr<parquet::ParquetFileReader> open(const std::string& path) {
        return parquet::ParquetFileReader::Open(std::make_shared<::arrow::io::BufferReader>(
            ::arrow::Buffer::FromString(std::string(read_local(path).view()))
        ));
    }

    std::string write_data_file() {
        auto writer = files_->write_data_file(folder_.path() + "/data.parquet", 3).value();
        const std::string value(500, 'v');
        const std::vector<RowHeader> headers = {{.key = "trace", .value = {}}};
        for (int i = 0; i < 50'000; ++i) {
            const Row row{
                .partition = i / 20'000,
                .offset = i,
                .timestamp_ms = 1782961445000 + i,
                .key = std::as_bytes(std::span(value).first(10)),
                .value = std::as_bytes(std::span(value)),
                .headers = headers
            };
            EXPECT_TRUE(writer->add(row).ok());
        }
        return writer->finish().value().path;
    }

    std::unique_ptr<TableFiles> files_ = load_table_files().value();
    objstore::TempFolder folder_;
};

TEST_F(ParquetLayout, ADataFileHasTheTablesColumnsAndFieldIds) {
    const auto reader = open(write_data_file());
    std::ostringstream text;
    parquet::schema::PrintSchema(reader->metadata()->schema()->schema_root().get(), text);
    const std::string time =
        "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds, is_from_converted_type=false, "
        "force_set_converted_type=false)";
    EXPECT_EQ(
        text.str(),
        R"(required group field_id=-1 table {
  required int32 field_id=1 kafka_partition;
  required int64 field_id=2 kafka_offset;
  required int64 field_id=3 kafka_timestamp ()" +
            time + R"();
  optional binary field_id=4 kafka_key;
  optional binary field_id=5 value;
  required group field_id=6 kafka_headers (List) {
    repeated group field_id=-1 list {
      required group field_id=7 element {
        required binary field_id=8 key (String);
        optional binary field_id=9 value;
      }
    }
  }
}
)"
    );
    EXPECT_EQ(reader->metadata()->created_by().substr(0, 18), "lakestream version");
}

TEST_F(ParquetLayout, ADataFileIsCompressedIndexedAndSaidToBeSorted) {
    const auto reader = open(write_data_file());
    const auto pages = reader->GetPageIndexReader()->RowGroup(0);
    const auto group = reader->metadata()->RowGroup(0);
    for (int i = 0; i < group->num_columns(); ++i) {
        const auto column = group->ColumnChunk(i);
        const std::string path = column->path_in_schema()->ToDotString();
        EXPECT_EQ(column->compression(), parquet::Compression::ZSTD) << path;
        EXPECT_TRUE(column->is_stats_set()) << path;
        const bool dictionary =
            path == "kafka_partition" || path == "kafka_headers.list.element.key";
        EXPECT_EQ(column->has_dictionary_page(), dictionary) << path;
        const auto offsets = pages->GetOffsetIndex(i);
        ASSERT_NE(offsets, nullptr) << path;
        EXPECT_GT(offsets->page_locations().size(), 1U) << path;
        EXPECT_NE(pages->GetColumnIndex(i), nullptr) << path;
    }
    const auto sorted = group->sorting_columns();
    ASSERT_EQ(sorted.size(), 2U);
    EXPECT_EQ(sorted[0].column_idx, 0);
    EXPECT_EQ(sorted[1].column_idx, 1);
    EXPECT_FALSE(sorted[0].descending || sorted[1].descending);
}

TEST_F(ParquetLayout, ACompactedObjectSaysWhatJavaReadersAsk) {
    auto writer = files_->write_compacted(folder_.path(), "some-uuid", LogId(42)).value();
    const Bytes payload = Bytes::own(std::string(300'000, 'p'));
    for (int i = 0; i < 60; ++i) {
        const Offset begin(1000 + 10 * i);
        ASSERT_TRUE(
            writer->add({.range = {.begin = begin, .end = begin + 10}, .payload = payload}).ok()
        );
    }
    const auto reader = open(writer->finish().value().parquet_path);
    const auto metadata = reader->metadata();
    std::ostringstream text;
    parquet::schema::PrintSchema(metadata->schema()->schema_root().get(), text);
    EXPECT_EQ(text.str(), R"(required group field_id=-1 KafkaMessage {
  optional binary field_id=-1 payload;
}
)");
    std::map<std::string, std::string> footer;
    for (std::int64_t i = 0; i < metadata->key_value_metadata()->size(); ++i) {
        footer[metadata->key_value_metadata()->key(i)] = metadata->key_value_metadata()->value(i);
    }
    const std::map<std::string, std::string> expected = {
        {"entrySerDeType", "KAFKA_BATCHED_RAW_PARQUET"},
        {"schemaType", "avro"},
        {"rowMetadata", "ursa-some-uuid.index"},
        {"parquet.avro.schema",
         R"({"type":"record","name":"KafkaMessage","fields":[{"name":"payload",)"
         R"("type":["null","bytes"],"default":null}]})"},
        {"writer.model.name", "avro"},
        {"lakestream.log", "42"},
        {"lakestream.offsets", "1000-1600"},
    };
    EXPECT_EQ(footer, expected);

    ASSERT_GE(metadata->num_row_groups(), 6);
    for (int g = 0; g < metadata->num_row_groups(); ++g) {
        const auto column = metadata->RowGroup(g)->ColumnChunk(0);
        EXPECT_EQ(column->compression(), parquet::Compression::UNCOMPRESSED);
        EXPECT_FALSE(column->has_dictionary_page());
        EXPECT_LT(column->total_uncompressed_size(), 3 << 20);
    }
    // Pages of about 1 MiB, so that a reader of one entry does not hold a row group.
    const auto page = reader->RowGroup(0)->GetColumnPageReader(0)->NextPage();
    EXPECT_EQ(page->type(), parquet::PageType::DATA_PAGE);
    EXPECT_LT(page->size(), 2 << 20);
}

}  // namespace
}  // namespace lakestream::table
