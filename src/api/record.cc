// SPDX-License-Identifier: Apache-2.0
// Between records and Kafka's batches.
#include "lakestream/record.h"

#include <limits>
#include <memory>
#include <utility>

#include "base/result.h"
#include "codec/batch_builder.h"
#include "codec/record_reader.h"

namespace lakestream {

namespace {

constexpr std::size_t decompressed_bytes_max = 256 << 20;
constexpr std::size_t batch_bytes_max = std::numeric_limits<std::int32_t>::max();
/// Most that the numbers of one record and header take.
constexpr std::size_t record_overhead_max = 64;
constexpr std::int64_t no_timestamp = -1;

codec::NullableBytes borrow(const std::optional<Bytes>& bytes) {
    return bytes.has_value() ? codec::NullableBytes(bytes->span()) : std::nullopt;
}

std::size_t size_of(const std::optional<Bytes>& bytes) {
    return bytes.has_value() ? bytes->size() : 0;
}

std::size_t size_of(const Record& record) {
    std::size_t bytes = record_overhead_max + size_of(record.key) + size_of(record.value);
    for (const Header& header : record.headers) {
        bytes += record_overhead_max + header.key.size() + size_of(header.value);
    }
    return bytes;
}

using ReaderPtr = std::shared_ptr<const codec::RecordReader>;  // shared by its records' fields

std::optional<Bytes> share(const ReaderPtr& owner, const codec::NullableBytes& bytes) {
    return bytes.has_value() ? std::optional(Bytes::share(owner, *bytes)) : std::nullopt;
}

Record to_record(const ReaderPtr& owner, const codec::Record& stored) {
    Record record{
        .key = share(owner, stored.key),
        .value = share(owner, stored.value),
        .headers = {},
        .timestamp = std::nullopt,
    };
    for (const codec::RecordHeader& header : stored.headers) {
        record.headers.push_back(
            {.key = std::string(header.key), .value = share(owner, header.value)}
        );
    }
    if (stored.timestamp != no_timestamp) {
        record.timestamp = Timestamp(std::chrono::milliseconds(stored.timestamp));
    }
    return record;
}

}  // namespace

Result<Bytes> make_batch(std::span<const Record> records, Compression compression) {
    if (records.empty()) {
        return invalid_argument("an entry has at least one record");
    }
    std::size_t bytes = codec::batch_header_bytes;
    for (const Record& record : records) {
        bytes += size_of(record);
    }
    if (bytes > batch_bytes_max) {
        return invalid_argument(
            "records of about {} bytes; a batch has at most {}", bytes, batch_bytes_max
        );
    }
    codec::BatchBuilder builder({.codec = static_cast<codec::Compression>(compression)});
    std::vector<codec::RecordHeader> headers;
    for (const Record& record : records) {
        headers.clear();
        for (const Header& header : record.headers) {
            headers.push_back({.key = header.key, .value = borrow(header.value)});
        }
        const std::int64_t timestamp = record.timestamp.has_value()
                                           ? record.timestamp->time_since_epoch().count()
                                           : no_timestamp;
        builder.add(timestamp, borrow(record.key), borrow(record.value), headers);
    }
    return builder.finish();
}

Result<std::vector<StoredRecord>> read_batch(const Bytes& entry, Offset first) {
    std::vector<StoredRecord> records;
    for (Bytes left = entry; !left.empty();) {
        const auto reader = std::make_shared<codec::RecordReader>(
            LKS_TRY(codec::RecordReader::open(left, decompressed_bytes_max))
        );
        for (codec::Record record; reader->next(record);) {
            records.push_back(
                {.offset = first + record.offset_delta, .record = to_record(reader, record)}
            );
        }
        LKS_TRY(reader->status());
        const codec::BatchHeader& header = reader->header();
        first = first + (header.last_offset_delta + std::int64_t{1});
        left = left.slice(header.size(), left.size() - header.size());
    }
    return records;
}

}  // namespace lakestream
