// SPDX-License-Identifier: Apache-2.0
// Rows of a data file: one cursor for each leaf column, moved row by row.
#include "table/arrow/data_file_reader.h"

#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "table/arrow/arrow_io.h"
#include "table/arrow/data_file_schema.h"

namespace lakestream::table {
namespace {

constexpr std::int64_t batch_levels = 1024;
/// What is fetched of a column at a time.
constexpr std::int64_t fetch_bytes = std::int64_t{4} << 20;
constexpr std::size_t headers_max = 1'000'000;

std::span<const std::byte> span_of(const parquet::ByteArray& bytes) {
    return {reinterpret_cast<const std::byte*>(bytes.ptr), bytes.len};
}

std::string_view view_of(const parquet::ByteArray& bytes) {
    return std::string_view(bytes);
}

/// One leaf column of one row group. Values point into its page: the next level may end their life.
template <class DType>
class Column {
  public:
    using T = typename DType::c_type;

    struct Level {
        std::int16_t definition = 0;
        std::int16_t repetition = 0;
        const T* value = nullptr;  // null: none at this level
    };

    void open(parquet::RowGroupReader& group, int leaf) {
        reader_ = std::static_pointer_cast<parquet::TypedColumnReader<DType>>(group.Column(leaf));
        defined_ = reader_->descr()->max_definition_level();
        level_ = levels_ = value_ = 0;
        // Columns without levels leave these as they are.
        definitions_.fill(defined_);
        repetitions_.fill(0);
    }

    /// The next level without taking it; none at the end of the row group.
    std::optional<Level> peek() {
        if (level_ == levels_ && !read_more()) {
            return std::nullopt;
        }
        const auto at = static_cast<std::size_t>(level_);
        const bool has_value = definitions_[at] == defined_;
        return Level{
            .definition = definitions_[at],
            .repetition = repetitions_[at],
            .value = has_value ? &values_[static_cast<std::size_t>(value_)] : nullptr
        };
    }

    void take() {
        value_ += definitions_[static_cast<std::size_t>(level_)] == defined_ ? 1 : 0;
        ++level_;
    }

  private:
    bool read_more() {
        level_ = value_ = 0;
        std::int64_t values = 0;
        levels_ = reader_->ReadBatch(
            batch_levels, definitions_.data(), repetitions_.data(), values_.data(), &values
        );
        // A page may end before its values do: then it is as if the column ended here.
        const auto defined =
            std::count(definitions_.begin(), definitions_.begin() + levels_, defined_);
        levels_ = defined == values ? levels_ : 0;
        return levels_ > 0;
    }

    std::shared_ptr<parquet::TypedColumnReader<DType>> reader_;
    std::int16_t defined_ = 0;
    std::int64_t level_ = 0;
    std::int64_t levels_ = 0;
    std::int64_t value_ = 0;
    std::array<std::int16_t, batch_levels> definitions_{};
    std::array<std::int16_t, batch_levels> repetitions_{};
    std::array<T, batch_levels> values_{};
};

struct Leaves {
    int partition = -1;
    int offset = -1;
    int timestamp = -1;
    int key = -1;
    int value = -1;
    int header_key = -1;
    int header_value = -1;
    std::int16_t header_level = 0;  // definition level from which a header is there
};

Result<int> find_leaf(
    const parquet::SchemaDescriptor& schema,
    std::int32_t id,
    parquet::Type::type type,
    std::int16_t repetition_max
) {
    for (int i = 0; i < schema.num_columns(); ++i) {
        const parquet::ColumnDescriptor* const column = schema.Column(i);
        if (column->schema_node()->field_id() != id) {
            continue;
        }
        if (column->physical_type() != type || column->max_repetition_level() != repetition_max) {
            return unsupported("column {} has another type than the table's", column->name());
        }
        return i;
    }
    return unsupported("no column has field id {}: not a data file of a log's table", id);
}

/// The definition level of the repeated node above `leaf`.
std::int16_t repeated_level(const parquet::schema::Node& leaf) {
    std::int16_t level = 0;
    const parquet::schema::Node* node = &leaf;
    while (node->parent() != nullptr && !node->is_repeated()) {
        node = node->parent();
    }
    for (; node->parent() != nullptr; node = node->parent()) {
        level += node->is_required() ? 0 : 1;
    }
    return level;
}

Result<Leaves> find_leaves(const parquet::SchemaDescriptor& schema) {
    using parquet::Type;
    Leaves leaves{
        .partition = LKS_TRY(find_leaf(schema, FieldId::partition, Type::INT32, 0)),
        .offset = LKS_TRY(find_leaf(schema, FieldId::offset, Type::INT64, 0)),
        .timestamp = LKS_TRY(find_leaf(schema, FieldId::timestamp, Type::INT64, 0)),
        .key = LKS_TRY(find_leaf(schema, FieldId::key, Type::BYTE_ARRAY, 0)),
        .value = LKS_TRY(find_leaf(schema, FieldId::value, Type::BYTE_ARRAY, 0)),
        .header_key = LKS_TRY(find_leaf(schema, FieldId::header_key, Type::BYTE_ARRAY, 1)),
        .header_value = LKS_TRY(find_leaf(schema, FieldId::header_value, Type::BYTE_ARRAY, 1)),
    };
    leaves.header_level = repeated_level(*schema.Column(leaves.header_key)->schema_node());
    return leaves;
}

class ParquetDataFileReader : public DataFileReader {
  public:
    explicit ParquetDataFileReader(std::shared_ptr<StoredFile> file) : file_(std::move(file)) {}

    Status open() {
        parquet::ReaderProperties properties(pool());
        properties.enable_buffered_stream();
        properties.set_buffer_size(fetch_bytes);
        properties.set_page_checksum_verification(true);
        parquet_ = parquet::ParquetFileReader::Open(file_, properties);
        leaves_ = LKS_TRY(find_leaves(*parquet_->metadata()->schema()));
        return {};
    }

    Result<std::optional<Row>> next() override {
        if (failed_.has_value()) {
            return *failed_;
        }
        auto row = next_row();
        if (!row.ok()) {
            failed_ = row.error();  // the columns may be out of step
        }
        return row;
    }

  private:
    struct Header {
        std::string key;
        std::optional<std::string> value;
    };

    Result<std::optional<Row>> next_row() {
        return guarded_read(*file_, [&]() -> Result<std::optional<Row>> {
            while (rows_left_ == 0) {
                if (group_ == parquet_->metadata()->num_row_groups()) {
                    return std::nullopt;
                }
                open_group(group_++);
            }
            --rows_left_;
            return LKS_TRY(read_row());
        });
    }

    void open_group(int number) {
        const auto group = parquet_->RowGroup(number);
        rows_left_ = group->metadata()->num_rows();
        partition_.open(*group, leaves_.partition);
        offset_.open(*group, leaves_.offset);
        timestamp_.open(*group, leaves_.timestamp);
        key_.open(*group, leaves_.key);
        value_.open(*group, leaves_.value);
        header_key_.open(*group, leaves_.header_key);
        header_value_.open(*group, leaves_.header_value);
    }

    Result<Row> read_row() {
        Row row;
        row.partition = LKS_TRY(number(partition_));
        row.offset = LKS_TRY(number(offset_));
        const std::int64_t micros = LKS_TRY(number(timestamp_));
        if (micros % 1000 != 0) {
            return corrupt("offset {} has a time between milliseconds: {} us", row.offset, micros);
        }
        row.timestamp_ms = micros / 1000;
        row.key = LKS_TRY(binary(key_));
        row.value = LKS_TRY(binary(value_));
        LKS_TRY(read_headers());
        row.headers = row_headers_;
        return row;
    }

    template <class DType>
    Result<typename DType::c_type> number(Column<DType>& column) {
        const auto level = column.peek();
        if (!level.has_value() || level->value == nullptr) {
            return corrupt("row group {} has a row without a number", group_ - 1);
        }
        const auto value = *level->value;
        column.take();
        return value;
    }

    Result<std::optional<std::span<const std::byte>>> binary(Column<parquet::ByteArrayType>& column
    ) {
        const auto level = column.peek();
        if (!level.has_value()) {
            return corrupt("row group {} has too few values", group_ - 1);
        }
        std::optional<std::span<const std::byte>> bytes;
        if (level->value != nullptr) {
            bytes = span_of(*level->value);
        }
        column.take();
        return bytes;
    }

    /// Copied, since looking for the end of the list may leave the page that holds its values.
    Status read_headers() {
        std::size_t count = 0;
        for (std::int16_t repetition = 0;; repetition = 1) {
            const auto key = header_key_.peek();
            const auto value = header_value_.peek();
            if (repetition == 1 && (!key.has_value() || key->repetition == 0)) {
                break;
            }
            if (!key.has_value() || !value.has_value() || key->repetition != repetition ||
                value->repetition != repetition) {
                return corrupt("row group {} has headers out of step", group_ - 1);
            }
            if (key->definition >= leaves_.header_level) {
                if (key->value == nullptr || count == headers_max) {
                    return corrupt("row group {} has no or too many header keys", group_ - 1);
                }
                if (count == headers_.size()) {
                    headers_.emplace_back();
                }
                Header& header = headers_[count++];
                header.key = view_of(*key->value);
                header.value.reset();
                if (value->value != nullptr) {
                    header.value = view_of(*value->value);
                }
            }
            header_key_.take();
            header_value_.take();
        }
        show_headers(count);
        return {};
    }

    void show_headers(std::size_t count) {
        row_headers_.clear();
        for (std::size_t i = 0; i < count; ++i) {
            std::optional<std::span<const std::byte>> value;
            if (headers_[i].value.has_value()) {
                value = std::as_bytes(std::span(*headers_[i].value));
            }
            row_headers_.push_back({.key = headers_[i].key, .value = value});
        }
    }

    std::shared_ptr<StoredFile> file_;
    std::unique_ptr<parquet::ParquetFileReader> parquet_;
    Leaves leaves_;
    int group_ = 0;  // the next one
    std::int64_t rows_left_ = 0;
    Column<parquet::Int32Type> partition_;
    Column<parquet::Int64Type> offset_;
    Column<parquet::Int64Type> timestamp_;
    Column<parquet::ByteArrayType> key_;
    Column<parquet::ByteArrayType> value_;
    Column<parquet::ByteArrayType> header_key_;
    Column<parquet::ByteArrayType> header_value_;
    std::vector<Header> headers_;
    std::vector<RowHeader> row_headers_;
    std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<DataFileReader>> open_data_file(std::unique_ptr<RandomFile> file) {
    auto stored = std::make_shared<StoredFile>(std::move(file));
    auto reader = std::make_unique<ParquetDataFileReader>(stored);
    LKS_TRY(guarded_read(*stored, [&] { return reader->open(); }));
    return std::unique_ptr<DataFileReader>(std::move(reader));
}

}  // namespace lakestream::table
