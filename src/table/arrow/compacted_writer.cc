// SPDX-License-Identifier: Apache-2.0
// Compacted pairs, as Ursa 1.0 writes them.
#include "table/arrow/compacted_writer.h"

#include <arrow/util/compression.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/format.h"
#include "table/arrow/compacted_format.h"

namespace lakestream::table {
namespace {

/// What a reader holds of each partition: small, so that many of them find room.
constexpr std::uint64_t row_group_bytes = std::uint64_t{2} << 20;
/// Parquet looks at a page's size after each batch.
constexpr std::uint64_t batch_bytes_max = 256 * 1024;
constexpr std::size_t batch_entries_max = 1024;
constexpr std::size_t payload_bytes_max = std::size_t{1} << 30;
/// The headers repeat so much that the fastest level does nearly as well.
constexpr int gzip_level = 1;

std::shared_ptr<parquet::schema::GroupNode> schema() {
    using parquet::Repetition;
    const auto payload = parquet::schema::PrimitiveNode::Make(
        compacted_column, Repetition::OPTIONAL, parquet::Type::BYTE_ARRAY
    );
    return std::static_pointer_cast<parquet::schema::GroupNode>(
        parquet::schema::GroupNode::Make(compacted_message, Repetition::REQUIRED, {payload})
    );
}

std::shared_ptr<parquet::WriterProperties> properties() {
    return parquet::WriterProperties::Builder()
        .memory_pool(pool())
        ->version(parquet::ParquetVersion::PARQUET_1_0)
        ->created_by(LKS_CREATED_BY)
        ->compression(parquet::Compression::UNCOMPRESSED)
        ->disable_dictionary()
        ->disable_statistics()
        ->disable_write_page_index()
        ->set_size_statistics_level(parquet::SizeStatisticsLevel::None)
        ->enable_page_checksum()
        ->build();
}

std::shared_ptr<const ::arrow::KeyValueMetadata> footer(const std::string& index_name) {
    return ::arrow::key_value_metadata(
        {std::string(entry_format_key),
         "schemaType",
         "rowMetadata",
         "parquet.avro.schema",
         "writer.model.name"},
        {std::string(entry_format_kafka), "avro", index_name, compacted_avro_schema, "avro"}
    );
}

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

Result<std::unique_ptr<CompactedWriter>> ParquetCompactedWriter::create(
    const std::string& folder, const std::string& uuid, LogId log
) {
    const std::string stem = fmt::format("{}/ursa-{}", folder, uuid);
    auto parquet = LKS_TRY(LocalFile::create(stem + ".parquet"));
    auto index = LKS_TRY(LocalFile::create(stem + ".index"));
    std::unique_ptr<ParquetCompactedWriter> writer(
        new ParquetCompactedWriter(std::move(parquet), std::move(index), log)
    );
    LKS_TRY(guarded(stem, ErrorCode::unsupported, [&] { return writer->open(); }));
    return std::unique_ptr<CompactedWriter>(std::move(writer));
}

ParquetCompactedWriter::ParquetCompactedWriter(LocalFile parquet, LocalFile index, LogId log)
    : parquet_file_(std::move(parquet)), index_file_(std::move(index)), log_(log) {}

ParquetCompactedWriter::~ParquetCompactedWriter() = default;

Status ParquetCompactedWriter::open() {
    parquet_ = parquet::ParquetFileWriter::Open(
        parquet_file_.stream(), schema(), properties(), footer(file_name(index_file_.path()))
    );
    PARQUET_ASSIGN_OR_THROW(
        const auto codec, ::arrow::util::Codec::Create(::arrow::Compression::GZIP, gzip_level)
    );
    PARQUET_ASSIGN_OR_THROW(
        index_, ::arrow::io::CompressedOutputStream::Make(codec.get(), index_file_.stream(), pool())
    );
    return {};
}

Status ParquetCompactedWriter::add(const CompactedEntry& entry) {
    LKS_ASSERT(!failed_);
    LKS_TRY(check(entry));
    return guarded(parquet_file_.path(), ErrorCode::unsupported, [&]() -> Status {
        failed_ = true;  // until this is through: what is written in part cannot be gone on with
        index_content_.add(
            {.offset = entry.range.begin,
             .records = static_cast<std::int32_t>(entry.range.count()),
             .timestamp_ms = entry.timestamp_ms,
             .size_bytes = static_cast<std::int32_t>(entry.payload.size()),
             .cumulative_size = entry.cumulative_size}
        );
        write_index(index_content_.take());
        batch_.push_back(entry.payload);
        batch_bytes_ += entry.payload.size();
        if (batch_bytes_ >= batch_bytes_max || batch_.size() == batch_entries_max) {
            flush();
        }
        range_ = {
            .begin = entries_ == 0 ? entry.range.begin : range_.begin, .end = entry.range.end
        };
        ++entries_;
        payload_bytes_ += static_cast<std::int64_t>(entry.payload.size());
        failed_ = false;
        return {};
    });
}

Status ParquetCompactedWriter::check(const CompactedEntry& entry) const {
    constexpr std::int64_t max = std::numeric_limits<std::int32_t>::max();
    if (entry.range.begin.v < 0 || entry.range.empty() || entry.range.count() > max ||
        (entries_ > 0 && entry.range.begin < range_.end)) {
        return invalid_argument(
            "{}: an entry [{}, {}) after offset {}",
            parquet_file_.path(),
            entry.range.begin,
            entry.range.end,
            range_.end
        );
    }
    if (entry.payload.size() > payload_bytes_max) {
        return invalid_argument(
            "{}: the entry at {} has {} bytes; a page holds {}",
            parquet_file_.path(),
            entry.range.begin,
            entry.payload.size(),
            payload_bytes_max
        );
    }
    return {};
}

void ParquetCompactedWriter::flush() {
    if (batch_.empty()) {
        return;
    }
    if (column_ == nullptr) {
        column_ = static_cast<parquet::ByteArrayWriter*>(parquet_->AppendRowGroup()->NextColumn());
    }
    std::vector<parquet::ByteArray> values;
    values.reserve(batch_.size());
    for (const Bytes& payload : batch_) {
        values.emplace_back(payload.view());
    }
    const std::vector<std::int16_t> definitions(values.size(), 1);
    column_->WriteBatch(
        static_cast<std::int64_t>(values.size()), definitions.data(), nullptr, values.data()
    );
    group_bytes_ += batch_bytes_;
    batch_.clear();
    batch_bytes_ = 0;
    if (group_bytes_ >= row_group_bytes) {
        end_row_group();
    }
}

void ParquetCompactedWriter::end_row_group() {
    if (column_ != nullptr) {
        std::exchange(column_, nullptr)->Close();
        group_bytes_ = 0;
    }
}

void ParquetCompactedWriter::write_index(const std::string& piece) {
    if (!piece.empty()) {
        PARQUET_THROW_NOT_OK(index_->Write(piece.data(), static_cast<std::int64_t>(piece.size())));
    }
}

/// Keys of our own, which other readers skip: enough to make the index record again.
void ParquetCompactedWriter::add_range() {
    parquet_->AddKeyValueMetadata(::arrow::key_value_metadata(
        {"lakestream.log", "lakestream.offsets"},
        {fmt::format("{}", log_), fmt::format("{}-{}", range_.begin, range_.end)}
    ));
}

std::uint64_t ParquetCompactedWriter::bytes() const {
    return static_cast<std::uint64_t>(payload_bytes_);
}

Result<CompactedPair> ParquetCompactedWriter::finish() {
    LKS_ASSERT(!failed_);
    if (entries_ == 0) {
        return invalid_argument("{}: a compacted pair has entries", parquet_file_.path());
    }
    failed_ = true;  // nothing comes after
    LKS_TRY(guarded(parquet_file_.path(), ErrorCode::unsupported, [&]() -> Status {
        flush();
        end_row_group();
        add_range();
        parquet_->Close();
        write_index(index_content_.finish());
        PARQUET_THROW_NOT_OK(index_->Close());
        return {};
    }));
    LKS_TRY(index_file_.close());
    const std::int64_t parquet_bytes = LKS_TRY(parquet_file_.close());
    return CompactedPair{
        .parquet_path = parquet_file_.keep(),
        .index_path = index_file_.keep(),
        .parquet_bytes = parquet_bytes,
        .payload_bytes = payload_bytes_,
        .entries = entries_
    };
}

}  // namespace lakestream::table
