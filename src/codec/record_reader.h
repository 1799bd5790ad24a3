// SPDX-License-Identifier: Apache-2.0
// RecordReader: the records inside one Kafka record batch of format 2.
//
//   record:  length varint, then that many bytes:
//            attributes int8 (unused), timestamp delta varlong, offset delta varint,
//            key length varint (-1 = null), key, value length varint (-1 = null), value,
//            header count varint, headers
//   header:  key length varint, key, value length varint (-1 = null), value
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "codec/reader.h"
#include "codec/record_batch.h"
#include "lakestream/bytes.h"
#include "lakestream/result.h"

namespace lakestream::codec {

/// Borrowed bytes, or null, which is not the same as none.
using NullableBytes = std::optional<std::span<const std::byte>>;

struct RecordHeader {
    std::string_view key;
    NullableBytes value;
};

/// One record. Borrows from its RecordReader; reuse one object for all records of a batch.
struct Record {
    std::int32_t offset_delta = 0;  // to the batch's base offset
    std::int64_t timestamp = -1;    // ms since 1970; the batch's own if it has the append time
    NullableBytes key;
    NullableBytes value;
    std::vector<RecordHeader> headers;
};

/// Reads a batch's records in order:
///
///     RecordReader records = LKS_TRY(RecordReader::open(batch, bytes_max));
///     for (Record record; records.next(record);) { ... }
///     LKS_TRY(records.status());
///
/// Offset deltas come strictly ascending, from 0 to the batch's last at most. Owns the decompressed
/// bytes, which records borrow; movable, and records stay valid when it moves.
class RecordReader {
  public:
    /// Open the batch that `bytes` are the beginning of, and decompress it. Does not look at the
    /// CRC. Errors as `read_batch_header()` and `decompress()`: `exhausted` beyond `bytes_max`.
    static Result<RecordReader> open(const Bytes& bytes, std::size_t bytes_max);

    const BatchHeader& header() const noexcept { return header_; }

    /// The next record, or false at the end or where the batch is malformed: see `status()`.
    bool next(Record& record) { return read(record, &record.headers); }

    /// Like `next()`, but leaves the headers out: checks them and allocates nothing.
    bool next_without_headers(Record& record) { return read(record, nullptr); }

    /// Whether all is well so far: `corrupt`, reason BatchFault::record, if a record is malformed,
    /// or if there are more or fewer of them than the header says.
    Status status() const;

  private:
    RecordReader(const BatchHeader& header, Bytes records) noexcept
        : header_(header), in_(std::move(records)) {}

    bool read(Record& record, std::vector<RecordHeader>* headers);
    NullableBytes nullable();
    void read_headers(std::vector<RecordHeader>* headers);

    BatchHeader header_;
    Reader in_;
    std::int32_t read_ = 0;
    std::int32_t last_delta_ = -1;
};

/// Whether the records of the batch that `bytes` are the beginning of are well-formed and as many
/// as its header says; those of a compressed batch are not looked at. Linear, allocates nothing.
/// Errors as `RecordReader::open()` and `status()`.
Status check_plain_records(const Bytes& bytes);

}  // namespace lakestream::codec
