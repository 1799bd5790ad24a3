// SPDX-License-Identifier: Apache-2.0
// Writes a compacted pair: payloads into Parquet, headers into the index.
#pragma once

#include <arrow/io/compressed.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>
#include <parquet/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "table/arrow/arrow_io.h"
#include "table/compacted_index.h"
#include "table/files.h"

namespace lakestream::table {

/// Memory: one batch, one Parquet page, one block of the index and 8 bytes for each entry.
class ParquetCompactedWriter : public CompactedWriter {
  public:
    static Result<std::unique_ptr<CompactedWriter>> create(
        const std::string& folder, const std::string& uuid, LogId log
    );
    ~ParquetCompactedWriter() override;

    Status add(const CompactedEntry& entry) override;
    std::uint64_t bytes() const override;
    Result<CompactedPair> finish() override;

  private:
    ParquetCompactedWriter(LocalFile parquet, LocalFile index, LogId log);

    Status open();
    Status check(const CompactedEntry& entry) const;
    void flush();
    void end_row_group();
    void write_index(const std::string& piece);
    void add_range();

    LocalFile parquet_file_;
    LocalFile index_file_;
    LogId log_;
    std::unique_ptr<parquet::ParquetFileWriter> parquet_;
    parquet::ByteArrayWriter* column_ = nullptr;  // owned by parquet_; null: no row group is open
    std::uint64_t group_bytes_ = 0;
    std::shared_ptr<::arrow::io::CompressedOutputStream> index_;
    CompactedIndexWriter index_content_;

    std::vector<Bytes> batch_;
    std::uint64_t batch_bytes_ = 0;
    std::int64_t entries_ = 0;
    std::int64_t payload_bytes_ = 0;
    OffsetRange range_;
    bool failed_ = false;
};

}  // namespace lakestream::table
