// SPDX-License-Identifier: Apache-2.0
// Entries of a compacted pair: headers from the index, payloads from Parquet.
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
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "table/arrow/arrow_io.h"
#include "table/arrow/compacted_format.h"
#include "table/compacted_index.h"

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

/// The payload column, read forward from any row.
class Payloads {
  public:
    explicit Payloads(std::shared_ptr<StoredFile> file) : file_(std::move(file)) {}

    Status open() {
        parquet::ReaderProperties properties(pool());
        properties.set_page_checksum_verification(true);
        parquet_ = parquet::ParquetFileReader::Open(file_, properties);
        LKS_TRY(check_format(*parquet_->metadata()));
        std::int64_t rows = 0;
        for (int i = 0; i < parquet_->metadata()->num_row_groups(); ++i) {
            rows += parquet_->metadata()->RowGroup(i)->num_rows();
            group_ends_.push_back(rows);
        }
        return {};
    }

    std::map<std::string, std::string> footer() const {
        std::map<std::string, std::string> pairs;
        const auto& stored = parquet_->metadata()->key_value_metadata();
        for (std::int64_t i = 0; stored != nullptr && i < stored->size(); ++i) {
            pairs.emplace(stored->key(i), stored->value(i));
        }
        return pairs;
    }

    std::int64_t rows() const { return group_ends_.empty() ? 0 : group_ends_.back(); }

    /// After a failed read, which leaves the column anywhere.
    void forget() { column_.reset(); }

    /// Append the payloads of the rows from `row` on, at most `count` and at least one.
    /// Precondition: those rows exist.
    Status read(std::int64_t row, std::size_t count, std::vector<Bytes>& out) {
        if (column_ == nullptr || row < row_ || row >= group_end_) {
            open_group(row);
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
        const auto wanted =
            std::min(static_cast<std::int64_t>(std::min(count, batch_rows_max)), group_end_ - row);
        std::int64_t found = 0;
        const std::int64_t levels =
            column_->ReadBatch(wanted, definitions.data(), nullptr, values.data(), &found);
        if (levels <= 0 || found != levels) {
            return corrupt("row {} has no payload", row);
        }
        row_ += levels;
        copy({values.data(), static_cast<std::size_t>(found)}, out);
        return {};
    }

  private:
    void open_group(std::int64_t row) {
        column_.reset();
        const auto group = std::ranges::upper_bound(group_ends_, row) - group_ends_.begin();
        const auto at = static_cast<std::size_t>(group);
        row_ = at == 0 ? 0 : group_ends_[at - 1];
        group_end_ = group_ends_[at];
        column_ = std::static_pointer_cast<parquet::ByteArrayReader>(
            parquet_->RowGroup(static_cast<int>(group))->Column(0)
        );
    }

    /// One buffer for all: the values point into a page that the next read may drop.
    static void copy(std::span<const parquet::ByteArray> values, std::vector<Bytes>& out) {
        std::size_t total = 0;
        for (const auto& value : values) {
            total += value.len;
        }
        std::vector<std::byte> buffer;
        buffer.reserve(total);
        for (const auto& value : values) {
            const auto* const from = reinterpret_cast<const std::byte*>(value.ptr);
            buffer.insert(buffer.end(), from, from + value.len);
        }
        const Bytes all = Bytes::own(std::move(buffer));
        std::size_t at = 0;
        for (const auto& value : values) {
            out.push_back(all.slice(at, value.len));
            at += value.len;
        }
    }

    std::shared_ptr<StoredFile> file_;
    std::unique_ptr<parquet::ParquetFileReader> parquet_;
    std::vector<std::int64_t> group_ends_;  // first row after each row group
    std::shared_ptr<parquet::ByteArrayReader> column_;
    std::int64_t row_ = 0;  // the column's next
    std::int64_t group_end_ = 0;
};

class ParquetCompactedReader : public CompactedReader {
  public:
    ParquetCompactedReader(std::shared_ptr<StoredFile> file, std::vector<EntryHeader> headers)
        : file_(std::move(file)), payloads_(file_), headers_(std::move(headers)) {}

    Status open() {
        return guarded_read(*file_, [&]() -> Status {
            LKS_TRY(payloads_.open());
            if (payloads_.rows() != static_cast<std::int64_t>(headers_.size())) {
                return corrupt(
                    "the index has {} rows and the Parquet file {}: they are not a pair",
                    headers_.size(),
                    payloads_.rows()
                );
            }
            return {};
        });
    }

    Result<std::vector<CompactedEntry>> read(Offset from, std::uint64_t bytes_max) override {
        const auto after = std::ranges::upper_bound(headers_, from, {}, &EntryHeader::offset);
        const bool holds = after != headers_.begin() && std::prev(after)->range().contains(from);
        const auto begin = holds ? std::prev(after) : after;
        if (begin == headers_.end()) {
            return out_of_range("the compacted object has nothing from offset {} on", from);
        }
        const auto first = static_cast<std::size_t>(begin - headers_.begin());
        std::size_t last = first;
        for (std::uint64_t bytes = 0;
             last < headers_.size() && (last == first || bytes < bytes_max);
             ++last) {
            bytes += static_cast<std::uint64_t>(headers_[last].size_bytes);
        }
        auto entries = guarded_read(*file_, [&] { return read_rows(first, last); });
        if (!entries.ok()) {
            payloads_.forget();
        }
        return entries;
    }

    std::map<std::string, std::string> footer() const override { return payloads_.footer(); }

  private:
    Result<std::vector<CompactedEntry>> read_rows(std::size_t first, std::size_t last) {
        std::vector<Bytes> payloads;
        while (payloads.size() < last - first) {
            const std::size_t row = first + payloads.size();
            LKS_TRY(payloads_.read(static_cast<std::int64_t>(row), last - row, payloads));
        }
        std::vector<CompactedEntry> entries;
        entries.reserve(payloads.size());
        for (Bytes& payload : payloads) {
            const EntryHeader& header = headers_[first + entries.size()];
            if (payload.size() != static_cast<std::size_t>(header.size_bytes)) {
                return corrupt(
                    "the payload at offset {} has {} bytes and the index says {}: they are not a "
                    "pair",
                    header.offset,
                    payload.size(),
                    header.size_bytes
                );
            }
            entries.push_back(
                {.range = header.range(),
                 .timestamp_ms = header.timestamp_ms,
                 .cumulative_size = header.cumulative_size,
                 .payload = std::move(payload)}
            );
        }
        return entries;
    }

    std::shared_ptr<StoredFile> file_;
    Payloads payloads_;
    std::vector<EntryHeader> headers_;
};

}  // namespace

Result<std::unique_ptr<CompactedReader>> open_compacted(
    std::unique_ptr<RandomFile> parquet, std::unique_ptr<RandomFile> index
) {
    const Bytes stored = LKS_TRY(index->read(0, index->size()));
    auto headers = LKS_TRY(decode_compacted_index(stored));
    auto reader = std::make_unique<ParquetCompactedReader>(
        std::make_shared<StoredFile>(std::move(parquet)), std::move(headers)
    );
    LKS_TRY(reader->open());
    return std::unique_ptr<CompactedReader>(std::move(reader));
}

}  // namespace lakestream::table
