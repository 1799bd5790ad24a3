// SPDX-License-Identifier: Apache-2.0
// Data files of tables.
#include "table/arrow/data_file_writer.h"

#include <parquet/column_writer.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/endian.h"
#include "table/arrow/data_file_schema.h"
#include "table/stored_form.h"

namespace lakestream::table {
namespace {

constexpr std::size_t batch_rows_max = 1024;
/// A batch's bytes stay in the CPU's cache between the copy in and the copy into a page.
constexpr std::size_t arena_bytes = 256 * 1024;
constexpr std::uint64_t group_bytes_max = std::uint64_t{64} << 20;
/// Partition, offset and timestamp.
constexpr std::uint64_t row_fixed_bytes = 20;

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Text that is replaced may grow threefold.
std::size_t header_bytes(const Row& row) {
    std::size_t bytes = 0;
    for (const RowHeader& header : row.headers) {
        bytes += 3 * header.key.size() + (header.value ? header.value->size() : 0);
    }
    return bytes;
}

parquet::ByteArray borrow(std::string_view bytes) {
    return {
        static_cast<std::uint32_t>(bytes.size()),
        reinterpret_cast<const std::uint8_t*>(bytes.data())
    };
}

template <class DType>
void write(
    parquet::RowGroupWriter& group,
    int leaf,
    std::size_t count,
    const std::vector<std::int16_t>& definitions,
    const std::vector<std::int16_t>& repetitions,
    const std::vector<typename DType::c_type>& values
) {
    static_cast<parquet::TypedColumnWriter<DType>*>(group.column(leaf))
        ->WriteBatch(
            static_cast<std::int64_t>(count), definitions.data(), repetitions.data(), values.data()
        );
}

template <class T>
Bytes little_endian(T value) {
    std::byte stored[sizeof(T)];
    store_le(stored, value);
    return Bytes::copy(stored);
}

std::int64_t first_page_offset(const parquet::ColumnChunkMetaData& column) {
    return column.has_dictionary_page()
               ? std::min(column.dictionary_page_offset(), column.data_page_offset())
               : column.data_page_offset();
}

}  // namespace

void ParquetDataFileWriter::BinaryColumn::clear() {
    definitions.clear();
    repetitions.clear();
    values.clear();
}

template <class T>
void ParquetDataFileWriter::NumberColumn<T>::add(T value) {
    values.push_back(value);
    min = std::min(min, value);
    max = std::max(max, value);
}

Result<std::unique_ptr<DataFileWriter>> ParquetDataFileWriter::create(
    std::string path, int zstd_level
) {
    auto file = LKS_TRY(LocalFile::create(path));
    std::unique_ptr<ParquetDataFileWriter> writer(new ParquetDataFileWriter(std::move(file)));
    using Made = Result<std::unique_ptr<DataFileWriter>>;
    return guarded(path, ErrorCode::unsupported, [&]() -> Made {
        writer->parquet_ = parquet::ParquetFileWriter::Open(
            writer->file_.stream(), data_file_schema(), data_file_properties(zstd_level)
        );
        return Made(std::move(writer));
    });
}

ParquetDataFileWriter::ParquetDataFileWriter(LocalFile file)
    : file_(std::move(file)), arena_(arena_bytes) {}

ParquetDataFileWriter::~ParquetDataFileWriter() = default;

Status ParquetDataFileWriter::add(const Row& row) {
    LKS_ASSERT(!failed_);
    LKS_TRY(check_order(row));
    return guarded(file_.path(), ErrorCode::unsupported, [&]() -> Status {
        failed_ = true;  // until this is through: a batch written in part cannot be gone on with
        const std::size_t headers = header_bytes(row);
        const std::size_t bytes =
            headers + (row.key ? row.key->size() : 0) + (row.value ? row.value->size() : 0);
        const bool large = bytes > arena_bytes;
        if (bytes > arena_.size() - arena_used_ || offsets_.values.size() == batch_rows_max) {
            flush();
        }
        if (large && headers > arena_bytes) {
            arena_.resize(headers);
        }
        gather(row, large ? Cells::borrowed : Cells::kept);
        if (large) {
            flush();  // while the row is there
            arena_ = std::vector<std::byte>(arena_bytes);
        }
        group_bytes_ += bytes + row_fixed_bytes;
        ++rows_;
        if (group_bytes_ >= group_bytes_max) {
            flush();
            end_row_group();
        }
        failed_ = false;
        return {};
    });
}

Status ParquetDataFileWriter::check_order(const Row& row) {
    const std::pair place(row.partition, row.offset);
    if (last_.has_value() && place <= *last_) {
        return invalid_argument(
            "{}: a row of partition {} and offset {} after one of {} and {}",
            file_.path(),
            row.partition,
            row.offset,
            last_->first,
            last_->second
        );
    }
    last_ = place;
    return {};
}

void ParquetDataFileWriter::gather(const Row& row, Cells cells) {
    partitions_.add(row.partition);
    offsets_.add(row.offset);
    times_.add(stored_micros(row.timestamp_ms));
    const auto binary = [&](BinaryColumn& column, BinaryBounds& bounds, const auto& cell) {
        column.definitions.push_back(cell.has_value() ? 1 : 0);
        if (cell.has_value()) {
            const std::string_view bytes = text_of(*cell);
            column.values.push_back(cells == Cells::kept ? keep(bytes) : borrow(bytes));
            bounds.add(bytes);
        }
    };
    binary(keys_, key_bounds_, row.key);
    binary(values_, value_bounds_, row.value);
    gather_headers(row);
}

/// A row's headers are one run of levels, its first with repetition 0; no headers are one level 0.
void ParquetDataFileWriter::gather_headers(const Row& row) {
    if (row.headers.empty()) {
        for (BinaryColumn* const column : {&header_keys_, &header_values_}) {
            column->definitions.push_back(0);
            column->repetitions.push_back(0);
        }
        return;
    }
    std::int16_t repetition = 0;
    for (const RowHeader& header : row.headers) {
        header_keys_.definitions.push_back(1);
        header_keys_.repetitions.push_back(repetition);
        header_keys_.values.push_back(keep(stored_text(header.key, scratch_)));
        header_values_.definitions.push_back(header.value.has_value() ? 2 : 1);
        header_values_.repetitions.push_back(repetition);
        if (header.value.has_value()) {
            header_values_.values.push_back(keep(text_of(*header.value)));
        }
        repetition = 1;
    }
}

parquet::ByteArray ParquetDataFileWriter::keep(std::string_view bytes) {
    std::byte* const to = arena_.data() + arena_used_;
    if (!bytes.empty()) {
        std::memcpy(to, bytes.data(), bytes.size());
    }
    arena_used_ += bytes.size();
    return borrow({reinterpret_cast<const char*>(to), bytes.size()});
}

void ParquetDataFileWriter::flush() {
    const std::size_t rows = offsets_.values.size();
    if (rows == 0) {
        return;
    }
    if (row_group_ == nullptr) {
        row_group_ = parquet_->AppendBufferedRowGroup();
    }
    parquet::RowGroupWriter& group = *row_group_;
    write<parquet::Int32Type>(group, Leaf::partition, rows, {}, {}, partitions_.values);
    write<parquet::Int64Type>(group, Leaf::offset, rows, {}, {}, offsets_.values);
    write<parquet::Int64Type>(group, Leaf::timestamp, rows, {}, {}, times_.values);
    const auto binary = [&](Leaf leaf, BinaryColumn& column) {
        write<parquet::ByteArrayType>(
            group,
            leaf,
            column.definitions.size(),
            column.definitions,
            column.repetitions,
            column.values
        );
        column.clear();
    };
    binary(Leaf::key, keys_);
    binary(Leaf::value, values_);
    binary(Leaf::header_key, header_keys_);
    binary(Leaf::header_value, header_values_);
    partitions_.values.clear();
    offsets_.values.clear();
    times_.values.clear();
    arena_used_ = 0;
}

void ParquetDataFileWriter::end_row_group() {
    if (row_group_ != nullptr) {
        std::exchange(row_group_, nullptr)->Close();
        group_bytes_ = 0;
    }
}

std::uint64_t ParquetDataFileWriter::bytes() const {
    const std::int64_t written = file_.stream()->Tell().ValueOr(0);
    const std::int64_t held = row_group_ == nullptr ? 0
                                                    : row_group_->total_compressed_bytes_written() +
                                                          row_group_->total_compressed_bytes();
    return static_cast<std::uint64_t>(written + held) + arena_used_;
}

Result<DataFile> ParquetDataFileWriter::finish() {
    LKS_ASSERT(!failed_);
    failed_ = true;  // nothing comes after
    LKS_TRY(guarded(file_.path(), ErrorCode::unsupported, [&]() -> Status {
        flush();
        end_row_group();
        parquet_->Close();
        return {};
    }));
    const std::int64_t size = LKS_TRY(file_.close());
    return guarded(file_.path(), ErrorCode::internal, [&]() -> Result<DataFile> {
        DataFile file = describe();
        file.size_bytes = size;
        file.path = file_.keep();
        return file;
    });
}

DataFile ParquetDataFileWriter::describe() const {
    DataFile file{.rows = rows_};
    const auto metadata = parquet_->metadata();
    for (int g = 0; g < metadata->num_row_groups(); ++g) {
        const auto group = metadata->RowGroup(g);
        file.split_offsets.push_back(first_page_offset(*group->ColumnChunk(0)));
        for (int leaf = 0; leaf < group->num_columns(); ++leaf) {
            const auto column = group->ColumnChunk(leaf);
            ColumnStats& stats =
                file.columns[metadata->schema()->Column(leaf)->schema_node()->field_id()];
            stats.size_bytes += column->total_compressed_size();
            stats.value_count += column->num_values();
            stats.null_count += column->statistics()->null_count();
        }
    }
    set_bounds(file);
    return file;
}

/// Of columns outside lists: Iceberg has no bounds for others.
void ParquetDataFileWriter::set_bounds(DataFile& file) const {
    if (rows_ == 0) {
        return;
    }
    const auto number = [&](std::int32_t id, const auto& column) {
        file.columns[id].lower = little_endian(column.min);
        file.columns[id].upper = little_endian(column.max);
    };
    number(FieldId::partition, partitions_);
    number(FieldId::offset, offsets_);
    number(FieldId::timestamp, times_);
    const auto binary = [&](std::int32_t id, const BinaryBounds& bounds) {
        file.columns[id].lower = bounds.lower();
        file.columns[id].upper = bounds.upper();
    };
    binary(FieldId::key, key_bounds_);
    binary(FieldId::value, value_bounds_);
}

}  // namespace lakestream::table
