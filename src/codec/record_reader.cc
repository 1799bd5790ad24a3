// SPDX-License-Identifier: Apache-2.0
// Decoding of records.
#include "codec/record_reader.h"

#include <utility>

#include "base/result.h"

namespace lakestream::codec {

Result<RecordReader> RecordReader::open(const Bytes& bytes, std::size_t bytes_max) {
    const BatchHeader header = LKS_TRY(read_batch_header(bytes.span()));
    const Bytes records = bytes.slice(batch_header_bytes, header.size() - batch_header_bytes);
    if (header.record_count == 0 && records.empty()) {
        return RecordReader(header, {});  // as cleaning leaves it, whatever its codec
    }
    return RecordReader(header, LKS_TRY(decompress(header.codec(), records, bytes_max)));
}

bool RecordReader::read(Record& record, std::vector<RecordHeader>* headers) {
    if (!in_.ok() || read_ >= header_.record_count) {
        if (in_.remaining() > 0) {
            in_.fail();  // bytes after the last record
        }
        return false;
    }
    const std::int32_t length = in_.varint();
    const std::size_t body_at = in_.position();
    in_.int8();
    // The sum wraps like that of the Java client; a wild timestamp is no reason to lose a record.
    const auto timestamp = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(header_.base_timestamp) +
        static_cast<std::uint64_t>(in_.varlong())
    );
    record.timestamp = header_.timestamp_type() == TimestampType::log_append_time
                           ? header_.max_timestamp
                           : timestamp;
    record.offset_delta = in_.varint();
    record.key = nullable();
    record.value = nullable();
    read_headers(headers);
    if (length < 0 || in_.position() - body_at != static_cast<std::size_t>(length) ||
        record.offset_delta <= last_delta_ || record.offset_delta > header_.last_offset_delta) {
        in_.fail();
    }
    if (!in_.ok()) {
        return false;
    }
    last_delta_ = record.offset_delta;
    ++read_;
    return true;
}

NullableBytes RecordReader::nullable() {
    const std::int32_t size = in_.varint();
    if (size == -1) {
        return std::nullopt;
    }
    // A negative size becomes one that no input has.
    return in_.span(static_cast<std::size_t>(size));
}

void RecordReader::read_headers(std::vector<RecordHeader>* headers) {
    if (headers != nullptr) {
        headers->clear();
    }
    const std::int32_t count = in_.varint();
    if (count < 0) {
        in_.fail();
    }
    for (std::int32_t i = 0; i < count && in_.ok(); ++i) {
        RecordHeader header;
        header.key = in_.view(static_cast<std::size_t>(in_.varint()));
        header.value = nullable();
        if (headers != nullptr) {
            headers->push_back(header);
        }
    }
}

Status RecordReader::status() const {
    if (in_.ok()) {
        return {};
    }
    Error error = corrupt(
        "batch: record {} of {} is malformed at byte {} of the records",
        read_,
        header_.record_count,
        in_.position()
    );
    error.reason = static_cast<std::uint16_t>(BatchFault::record);
    return error;
}

Status check_plain_records(const Bytes& bytes) {
    const BatchHeader header = LKS_TRY(read_batch_header(bytes.span()));
    if (header.codec() != Compression::none) {
        return {};
    }
    RecordReader records = LKS_TRY(RecordReader::open(bytes, header.size()));
    for (Record record; records.next_without_headers(record);) {
    }
    return records.status();
}

}  // namespace lakestream::codec
