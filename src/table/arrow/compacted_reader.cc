// SPDX-License-Identifier: Apache-2.0
// Entries of a compacted pair: headers from the index, payloads from Parquet, a row group at a
// time.
#include "table/arrow/compacted_reader.h"

#include <arrow/util/key_value_metadata.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/format.h"
#include "table/arrow/arrow_io.h"
#include "table/arrow/compacted_format.h"
#include "table/compacted_index.h"
#include "table/parquet_footer.h"
#include "table/plain_pages.h"

namespace lakestream::table {
namespace {

constexpr std::size_t batch_rows_max = 128;

/// What other readers compare, which is without regard to case.
bool same_word(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    });
}

Status check_format(const parquet::FileMetaData& metadata) {
    const auto& pairs = metadata.key_value_metadata();
    const auto at = pairs == nullptr ? -1 : pairs->FindKey(entry_format_key);
    const std::string format = at < 0 ? "none" : pairs->value(at);
    if (!same_word(format, entry_format_kafka)) {
        return unsupported(
            "entries of format {} in a compacted object: only {} is read",
            format,
            entry_format_kafka
        );
    }
    const parquet::SchemaDescriptor& schema = *metadata.schema();
    if (schema.num_columns() != 1 || schema.Column(0)->name() != compacted_column ||
        schema.Column(0)->physical_type() != parquet::Type::BYTE_ARRAY ||
        schema.Column(0)->max_repetition_level() != 0) {
        return corrupt("a compacted object has one binary column '{}'", compacted_column);
    }
    return {};
}

using MetadataPtr = std::shared_ptr<parquet::FileMetaData>;  // shared by a reader and its rows

parquet::ReaderProperties properties() {
    parquet::ReaderProperties out(pool());
    out.set_page_checksum_verification(true);
    return out;
}

/// One range of a file, as if it was the file. Whatever else is asked for is not what the footer
/// says.
class FilePiece final : public RandomFile {
  public:
    FilePiece(std::uint64_t file_bytes, std::uint64_t begin, Bytes bytes)
        : file_bytes_(file_bytes), begin_(begin), bytes_(std::move(bytes)) {}

    std::uint64_t size() const override { return file_bytes_; }

    Result<Bytes> read(std::uint64_t offset, std::uint64_t count) override {
        if (offset < begin_ || offset - begin_ > bytes_.size() ||
            count > bytes_.size() - (offset - begin_)) {
            return corrupt("its row group does not lie where the footer says");
        }
        return bytes_.slice(offset - begin_, count);
    }

  private:
    std::uint64_t file_bytes_;
    std::uint64_t begin_;
    Bytes bytes_;
};

using Value = std::span<const std::byte>;

/// Payloads in one buffer of their own.
void copy(std::span<const Value> values, std::vector<Bytes>& out) {
    std::size_t total = 0;
    for (const Value value : values) {
        total += value.size();
    }
    std::vector<std::byte> buffer;
    buffer.reserve(total);
    for (const Value value : values) {
        buffer.insert(buffer.end(), value.begin(), value.end());
    }
    const Bytes all = Bytes::own(std::move(buffer));
    std::size_t at = 0;
    for (const Value value : values) {
        out.push_back(all.slice(at, value.size()));
        at += value.size();
    }
}

/// The payload column of one row group, read forward from any row.
class Payloads {
  public:
    Payloads(std::shared_ptr<StoredFile> file, MetadataPtr metadata, int group)
        : parquet_(
              parquet::ParquetFileReader::Open(std::move(file), properties(), std::move(metadata))
          ),
          group_(group) {}

    /// After a failed read, which leaves the column anywhere.
    void forget() { column_.reset(); }

    /// Append the payloads of the group's rows from `row` on, at most `count` and at least one.
    /// Precondition: those rows exist.
    Status read(std::int64_t row, std::size_t count, std::vector<Bytes>& out) {
        if (column_ == nullptr || row < row_) {
            row_ = 0;
            column_ = std::static_pointer_cast<parquet::ByteArrayReader>(
                parquet_->RowGroup(group_)->Column(0)
            );
        }
        while (row_ < row) {
            const std::int64_t skipped = column_->Skip(row - row_);
            if (skipped <= 0) {
                return corrupt("row {} cannot be reached", row);
            }
            row_ += skipped;
        }
        std::array<parquet::ByteArray, batch_rows_max> values;
        std::array<std::int16_t, batch_rows_max> definitions{};
        const auto wanted = static_cast<std::int64_t>(std::min(count, batch_rows_max));
        std::int64_t found = 0;
        const std::int64_t levels =
            column_->ReadBatch(wanted, definitions.data(), nullptr, values.data(), &found);
        if (levels <= 0 || found != levels) {
            return corrupt("row {} has no payload", row);
        }
        row_ += levels;
        std::vector<Value> payloads;  // in a page that the next read may drop
        for (const auto& value : std::span(values).first(static_cast<std::size_t>(found))) {
            payloads.emplace_back(reinterpret_cast<const std::byte*>(value.ptr), value.len);
        }
        copy(payloads, out);
        return {};
    }

  private:
    std::unique_ptr<parquet::ParquetFileReader> parquet_;
    int group_;
    std::shared_ptr<parquet::ByteArrayReader> column_;
    std::int64_t row_ = 0;  // the column's next
};

/// The first header at or behind `from`: of the entry that holds it, or the next one.
std::span<const EntryHeader>::iterator find_header(
    std::span<const EntryHeader> headers, Offset from
) {
    const auto after = std::ranges::upper_bound(headers, from, {}, &EntryHeader::offset);
    const bool holds = after != headers.begin() && std::prev(after)->range().contains(from);
    return holds ? std::prev(after) : after;
}

/// The headers of a run of rows.
struct RowRange {
    std::size_t first = 0;
    std::size_t last = 0;  // exclusive
    std::uint64_t bytes = 0;
};

/// What CompactedRows::read is to give.
Result<RowRange> find_rows(
    std::span<const EntryHeader> headers, Offset from, std::uint64_t bytes_max
) {
    const auto begin = find_header(headers, from);
    if (begin == headers.end()) {
        return out_of_range("the row group has nothing from offset {} on", from);
    }
    RowRange found{.first = static_cast<std::size_t>(begin - headers.begin())};
    for (found.last = found.first;
         found.last < headers.size() && (found.last == found.first || found.bytes < bytes_max);
         ++found.last) {
        found.bytes += static_cast<std::uint64_t>(headers[found.last].size_bytes);
    }
    return found;
}

Status check_size(const EntryHeader& header, std::size_t size) {
    if (size != static_cast<std::size_t>(header.size_bytes)) {
        return corrupt(
            "the payload at offset {} has {} bytes and the index says {}: they are not a pair",
            header.offset,
            size,
            header.size_bytes
        );
    }
    return {};
}

/// Precondition: as many payloads as headers.
std::vector<CompactedEntry> join(
    std::span<const EntryHeader> headers, std::vector<Bytes> payloads
) {
    std::vector<CompactedEntry> entries;
    entries.reserve(payloads.size());
    for (Bytes& payload : payloads) {
        const EntryHeader& header = headers[entries.size()];
        entries.push_back(
            {.range = header.range(),
             .timestamp_ms = header.timestamp_ms,
             .cumulative_size = header.cumulative_size,
             .payload = std::move(payload)}
        );
    }
    return entries;
}

/// Read by Arrow, a page at a time.
class ParquetCompactedRows final : public CompactedRows {
  public:
    ParquetCompactedRows(
        std::shared_ptr<StoredFile> file,
        std::uint64_t stored_bytes,
        std::vector<EntryHeader> headers
    )
        : file_(std::move(file)), stored_bytes_(stored_bytes), headers_(std::move(headers)) {}

    Status open(MetadataPtr metadata, int group) {
        return guarded_read(*file_, [&]() -> Status {
            payloads_.emplace(file_, std::move(metadata), group);
            return {};
        });
    }

    bool ready() const override { return false; }

    Result<std::vector<CompactedEntry>> read(Offset from, std::uint64_t bytes_max) override {
        const RowRange rows = LKS_TRY(find_rows(headers_, from, bytes_max));
        auto entries = guarded_read(*file_, [&] { return read_rows(rows); });
        if (!entries.ok()) {
            payloads_->forget();
        }
        return entries;
    }

    std::uint64_t bytes() const override {
        return stored_bytes_ + headers_.size() * sizeof(EntryHeader);
    }

  private:
    Result<std::vector<CompactedEntry>> read_rows(const RowRange& rows) {
        const std::size_t count = rows.last - rows.first;
        std::vector<Bytes> payloads;
        while (payloads.size() < count) {
            const std::size_t row = rows.first + payloads.size();
            LKS_TRY(
                payloads_->read(static_cast<std::int64_t>(row), count - payloads.size(), payloads)
            );
        }
        const auto headers = std::span(headers_).subspan(rows.first, count);
        for (std::size_t i = 0; i < count; ++i) {
            LKS_TRY(check_size(headers[i], payloads[i].size()));
        }
        return join(headers, std::move(payloads));
    }

    std::shared_ptr<StoredFile> file_;
    std::uint64_t stored_bytes_;
    std::vector<EntryHeader> headers_;  // of this group
    std::optional<Payloads> payloads_;
};

/// As they lie in the stored bytes.
class PlainCompactedRows final : public CompactedRows {
  public:
    /// Errors: of find_plain_values, and `corrupt` (the headers are of others).
    static Result<std::unique_ptr<CompactedRows>> open(
        Bytes stored, std::span<const EntryHeader> headers
    ) {
        auto values = LKS_TRY(find_plain_values(stored.span(), headers.size()));
        for (std::size_t i = 0; i < values.size(); ++i) {
            LKS_TRY(check_size(headers[i], values[i].size()));
        }
        return std::unique_ptr<CompactedRows>(
            new PlainCompactedRows(std::move(stored), headers, std::move(values))
        );
    }

    bool ready() const override { return true; }

    Result<std::vector<CompactedEntry>> read(Offset from, std::uint64_t bytes_max) override {
        const RowRange rows = LKS_TRY(find_rows(headers_, from, bytes_max));
        const std::size_t count = rows.last - rows.first;
        const auto values = std::span<const Value>(values_).subspan(rows.first, count);
        std::vector<Bytes> payloads;
        payloads.reserve(count);
        // A slice keeps all of the group, and who reads little must not hold much.
        if (rows.bytes < stored_.size() / 4) {
            copy(values, payloads);
        } else {
            for (const Value value : values) {
                const auto at = static_cast<std::size_t>(value.data() - stored_.data());
                payloads.push_back(stored_.slice(at, value.size()));
            }
        }
        return join(std::span(headers_).subspan(rows.first, count), std::move(payloads));
    }

    std::uint64_t bytes() const override {
        return stored_.size() + headers_.size() * (sizeof(EntryHeader) + sizeof(Value));
    }

  private:
    PlainCompactedRows(
        Bytes stored, std::span<const EntryHeader> headers, std::vector<Value> values
    )
        : stored_(std::move(stored)),
          headers_(headers.begin(), headers.end()),
          values_(std::move(values)) {}

    const Bytes stored_;
    const std::vector<EntryHeader> headers_;  // of this group
    const std::vector<Value> values_;
};

/// Whether find_plain_values may know its pages.
bool is_plain(const parquet::ColumnDescriptor& schema, const parquet::ColumnChunkMetaData& column) {
    return column.compression() == parquet::Compression::UNCOMPRESSED &&
           !column.has_dictionary_page() && schema.max_definition_level() == 1 &&
           column.crypto_metadata() == nullptr &&
           std::ranges::find(column.encodings(), parquet::Encoding::PLAIN) !=
               column.encodings().end();
}

class ParquetCompactedReader : public CompactedReader {
  public:
    ParquetCompactedReader(std::uint64_t file_bytes, std::vector<EntryHeader> headers)
        : file_bytes_(file_bytes), headers_(std::move(headers)) {}

    /// `footer` is Thrift.
    Status open(const Bytes& footer) {
        footer_bytes_ = footer.size();
        return guarded("", ErrorCode::corrupt, [&]() -> Status {
            metadata_ = parquet::FileMetaData::Make(
                footer.data(), static_cast<std::int64_t>(footer.size()), properties()
            );
            LKS_TRY(check_format(*metadata_));
            for (int i = 0; i < metadata_->num_row_groups(); ++i) {
                LKS_TRY(add_group(*metadata_->RowGroup(i)));
            }
            if (rows() != headers_.size()) {
                return corrupt(
                    "the index has {} rows and the Parquet file {}: they are not a pair",
                    headers_.size(),
                    rows()
                );
            }
            return {};
        });
    }

    Result<std::vector<RowGroup>> find(Offset from, std::uint64_t bytes) const override {
        const std::span<const EntryHeader> headers(headers_);
        const auto found = find_header(headers, from);
        if (found == headers.end()) {
            return out_of_range("the compacted object has nothing from offset {} on", from);
        }
        const auto row = static_cast<std::uint64_t>(found - headers.begin());
        auto group = std::ranges::upper_bound(groups_, row, {}, &Group::rows_end);
        const std::uint64_t rows_before = group == groups_.begin() ? 0 : std::prev(group)->rows_end;
        // As if all entries of the group had the same size.
        const double rows_left = static_cast<double>(group->rows_end - row) /
                                 static_cast<double>(group->rows_end - rows_before);
        std::vector<RowGroup> places{group->place};
        auto covered = static_cast<std::uint64_t>(
            rows_left * static_cast<double>(group->place.end - group->place.begin)
        );
        while (++group != groups_.end() && covered < bytes) {
            places.push_back(group->place);
            covered += group->place.end - group->place.begin;
        }
        return places;
    }

    Result<std::unique_ptr<CompactedRows>> open(const RowGroup& group, Bytes stored)
        const override {
        const auto at = static_cast<std::size_t>(group.number);
        LKS_ASSERT(at < groups_.size() && stored.size() == group.end - group.begin);
        const std::uint64_t first = at == 0 ? 0 : groups_[at - 1].rows_end;
        const auto headers = std::span(headers_).subspan(
            first, static_cast<std::size_t>(groups_[at].rows_end - first)
        );
        if (groups_[at].plain) {
            auto rows = PlainCompactedRows::open(stored, headers);
            if (!rows.is(ErrorCode::unsupported)) {
                return rows;
            }
        }
        const std::uint64_t bytes = stored.size();
        auto rows = std::make_unique<ParquetCompactedRows>(
            std::make_shared<StoredFile>(
                std::make_unique<FilePiece>(file_bytes_, group.begin, std::move(stored))
            ),
            bytes,
            std::vector<EntryHeader>(headers.begin(), headers.end())
        );
        LKS_TRY(rows->open(metadata_, group.number));
        return std::unique_ptr<CompactedRows>(std::move(rows));
    }

    std::map<std::string, std::string> footer() const override {
        std::map<std::string, std::string> pairs;
        const auto& stored = metadata_->key_value_metadata();
        for (std::int64_t i = 0; stored != nullptr && i < stored->size(); ++i) {
            pairs.emplace(stored->key(i), stored->value(i));
        }
        return pairs;
    }

    std::uint64_t bytes() const override {
        constexpr std::uint64_t footer_growth = 4;  // Thrift's varints become words
        return footer_bytes_ * footer_growth + headers_.size() * sizeof(EntryHeader);
    }

  private:
    struct Group {
        RowGroup place;
        std::uint64_t rows_end = 0;  // first row of the file that is behind it
        bool plain = false;
    };

    std::uint64_t rows() const { return groups_.empty() ? 0 : groups_.back().rows_end; }

    Status add_group(const parquet::RowGroupMetaData& group) {
        const auto column = group.ColumnChunk(0);
        std::int64_t begin = column->data_page_offset();
        if (column->has_dictionary_page() && column->dictionary_page_offset() > 0) {
            begin = std::min(begin, column->dictionary_page_offset());
        }
        const std::int64_t size = column->total_compressed_size();
        const auto file = static_cast<std::int64_t>(file_bytes_);
        if (group.num_rows() < 0 || static_cast<std::uint64_t>(group.num_rows()) > ~rows() ||
            begin < 0 || size < 0 || begin > file || size > file - begin) {
            return corrupt(
                "its row group {} has {} rows in {} bytes at {} of {}",
                groups_.size(),
                group.num_rows(),
                size,
                begin,
                file
            );
        }
        const RowGroup place{
            .number = static_cast<int>(groups_.size()),
            .begin = static_cast<std::uint64_t>(begin),
            .end = static_cast<std::uint64_t>(begin + size),
        };
        groups_.push_back(
            {place,
             rows() + static_cast<std::uint64_t>(group.num_rows()),
             is_plain(*metadata_->schema()->Column(0), *column)}
        );
        return {};
    }

    std::uint64_t file_bytes_;
    std::uint64_t footer_bytes_ = 0;
    std::vector<EntryHeader> headers_;
    MetadataPtr metadata_;
    std::vector<Group> groups_;
};

}  // namespace

Result<std::unique_ptr<CompactedReader>> open_compacted(
    std::uint64_t parquet_bytes, const Bytes& parquet_tail, const Bytes& index
) {
    const std::uint64_t footer = LKS_TRY(parquet_footer_bytes(parquet_tail, parquet_bytes));
    if (footer > parquet_tail.size()) {
        return corrupt("{} bytes of a Parquet footer of {}", parquet_tail.size(), footer);
    }
    auto headers = LKS_TRY(decode_compacted_index(index));
    auto reader = std::make_unique<ParquetCompactedReader>(parquet_bytes, std::move(headers));
    LKS_TRY(
        reader->open(parquet_tail.slice(parquet_tail.size() - footer, footer - parquet_end_bytes))
    );
    return std::unique_ptr<CompactedReader>(std::move(reader));
}

}  // namespace lakestream::table
