// SPDX-License-Identifier: Apache-2.0
// Writes a table's data file: rows are gathered in columns, columns go to Parquet in batches.
#pragma once

#include <parquet/file_writer.h>
#include <parquet/types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "table/arrow/arrow_io.h"
#include "table/arrow/binary_bounds.h"
#include "table/files.h"

namespace lakestream::table {

/// Memory: one row group's pages, compressed (values of at most 64 MiB before that), and one batch.
class ParquetDataFileWriter : public DataFileWriter {
  public:
    static Result<std::unique_ptr<DataFileWriter>> create(std::string path, int zstd_level);
    ~ParquetDataFileWriter() override;

    Status add(const Row& row) override;
    std::uint64_t bytes() const override;
    Result<DataFile> finish() override;

  private:
    /// One leaf's part of the batch. Levels are empty where the schema has none.
    struct BinaryColumn {
        std::vector<std::int16_t> definitions;
        std::vector<std::int16_t> repetitions;
        std::vector<parquet::ByteArray> values;

        void clear();
    };
    template <class T>
    struct NumberColumn {
        std::vector<T> values;
        T min = std::numeric_limits<T>::max();
        T max = std::numeric_limits<T>::min();

        void add(T value);
    };

    explicit ParquetDataFileWriter(LocalFile file);

    Status check_order(const Row& row);
    /// Whether key and value are copied for the batch, or the batch ends with the row's life.
    enum class Cells : bool { kept, borrowed };

    void gather(const Row& row, Cells cells);
    void gather_headers(const Row& row);
    parquet::ByteArray keep(std::string_view bytes);
    void flush();
    void end_row_group();
    DataFile describe() const;
    void set_bounds(DataFile& file) const;

    LocalFile file_;
    std::unique_ptr<parquet::ParquetFileWriter> parquet_;
    parquet::RowGroupWriter* row_group_ = nullptr;  // owned by parquet_; null: none is open
    std::uint64_t group_bytes_ = 0;                 // of its rows, not encoded
    std::int64_t rows_ = 0;
    std::optional<std::pair<std::int32_t, std::int64_t>> last_;  // partition and offset

    // The batch; what its columns point to stands in arena_.
    std::vector<std::byte> arena_;
    std::size_t arena_used_ = 0;
    std::string scratch_;
    NumberColumn<std::int32_t> partitions_;
    NumberColumn<std::int64_t> offsets_;
    NumberColumn<std::int64_t> times_;
    BinaryColumn keys_;
    BinaryColumn values_;
    BinaryColumn header_keys_;
    BinaryColumn header_values_;
    BinaryBounds key_bounds_;
    BinaryBounds value_bounds_;
    bool failed_ = false;
};

}  // namespace lakestream::table
