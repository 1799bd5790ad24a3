// SPDX-License-Identifier: Apache-2.0
// What the module gives to the program.
#include "table/module.h"

#include "table/arrow/compacted_reader.h"
#include "table/arrow/compacted_writer.h"
#include "table/arrow/data_file_reader.h"
#include "table/arrow/data_file_writer.h"

namespace lakestream::table {
namespace {

class ArrowTableFiles : public TableFiles {
  public:
    Result<std::unique_ptr<DataFileWriter>> write_data_file(std::string path, int zstd_level)
        override {
        return ParquetDataFileWriter::create(std::move(path), zstd_level);
    }
    Result<std::unique_ptr<DataFileReader>> read_data_file(std::unique_ptr<RandomFile> file
    ) override {
        return open_data_file(std::move(file));
    }
    Result<std::unique_ptr<CompactedWriter>> write_compacted(
        std::string folder, std::string uuid, LogId log
    ) override {
        return ParquetCompactedWriter::create(folder, uuid, log);
    }
    Result<std::unique_ptr<CompactedReader>> read_compacted(
        std::uint64_t parquet_bytes, Bytes parquet_tail, Bytes index
    ) override {
        return open_compacted(parquet_bytes, parquet_tail, index);
    }
};

}  // namespace
}  // namespace lakestream::table

extern "C" {
[[gnu::visibility("default")]] const char* lakestream_tables_version() {
    return LKS_TABLES_VERSION;
}
[[gnu::visibility("default")]] lakestream::table::TableFiles* lakestream_tables_make() {
    return new lakestream::table::ArrowTableFiles();
}
}
