// SPDX-License-Identifier: Apache-2.0
// Encoding of records and headers.
#include "codec/batch_builder.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "codec/crc32c.h"

namespace lakestream::codec {

namespace {

/// Size on the wire of a nullable run of bytes with its length in front.
std::size_t nullable_size(const NullableBytes& bytes) {
    return bytes ? uvarint_size(zigzag(static_cast<std::int32_t>(bytes->size()))) + bytes->size()
                 : 1;
}

void write_nullable(Writer& out, const NullableBytes& bytes) {
    out.varint(bytes ? static_cast<std::int32_t>(bytes->size()) : -1);
    if (bytes) {
        out.raw(*bytes);
    }
}

NullableBytes as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::uint32_t crc_of(std::span<const std::byte> header, std::span<const std::byte> records) {
    return crc32c(records, crc32c(header));
}

/// `header` in front of `records`. Its length and CRC are computed here.
Bytes assemble(const BatchHeader& header, const Bytes& records) {
    LKS_ASSERT(records.size() < std::numeric_limits<std::int32_t>::max() - batch_header_bytes);
    Writer covered(batch_header_bytes);
    covered.uint16(header.attributes);
    covered.int32(header.last_offset_delta);
    covered.int64(header.base_timestamp);
    covered.int64(header.max_timestamp);
    covered.int64(header.producer_id);
    covered.int16(header.producer_epoch);
    covered.int32(header.base_sequence);
    covered.int32(header.record_count);
    const Bytes fields = covered.finish().join();

    Writer out(batch_header_bytes + records.size());
    out.int64(header.base_offset.v);
    out.int32(static_cast<std::int32_t>(batch_header_bytes - batch_prefix_bytes + records.size()));
    out.int32(header.leader_epoch);
    out.int8(batch_magic);
    out.uint32(crc_of(fields.span(), records.span()));
    out.raw(fields.span());
    out.raw(records.span());
    return out.finish().join();
}

}  // namespace

void BatchBuilder::add(
    std::int64_t timestamp,
    NullableBytes key,
    NullableBytes value,
    std::span<const RecordHeader> headers
) {
    if (count_ == 0) {
        base_timestamp_ = timestamp;
    }
    max_timestamp_ = std::max(max_timestamp_, timestamp);
    const std::int64_t timestamp_delta = timestamp - base_timestamp_;
    const auto header_count = static_cast<std::int32_t>(headers.size());

    std::size_t size = 1 + uvarint_size(zigzag(timestamp_delta)) + uvarint_size(zigzag(count_)) +
                       nullable_size(key) + nullable_size(value) +
                       uvarint_size(zigzag(header_count));
    for (const RecordHeader& header : headers) {
        size += nullable_size(as_bytes(header.key)) + nullable_size(header.value);
    }
    records_.varint(static_cast<std::int32_t>(size));
    records_.int8(0);
    records_.varlong(timestamp_delta);
    records_.varint(count_);
    write_nullable(records_, key);
    write_nullable(records_, value);
    records_.varint(header_count);
    for (const RecordHeader& header : headers) {
        write_nullable(records_, as_bytes(header.key));
        write_nullable(records_, header.value);
    }
    ++count_;
}

Bytes BatchBuilder::finish() {
    LKS_ASSERT(count_ > 0);
    BatchHeader header;
    header.base_offset = options_.base_offset;
    header.leader_epoch = options_.leader_epoch;
    header.attributes = static_cast<std::uint16_t>(
        static_cast<unsigned>(options_.codec) | (options_.append_time ? 8U : 0U) | options_.flags
    );
    header.last_offset_delta = count_ - 1;
    header.base_timestamp = base_timestamp_;
    header.max_timestamp = options_.append_time.value_or(max_timestamp_);
    header.producer_id = options_.producer_id;
    header.producer_epoch = options_.producer_epoch;
    header.base_sequence = options_.base_sequence;
    header.record_count = count_;
    return assemble(header, compress(options_.codec, records_.finish().join()));
}

Bytes empty_batch(Offset base_offset, Offset last_offset, std::int64_t timestamp) {
    const std::int64_t last_delta = last_offset - base_offset;
    LKS_ASSERT(last_delta >= 0 && last_delta < std::numeric_limits<std::int32_t>::max());
    BatchHeader header;
    header.base_offset = base_offset;
    header.last_offset_delta = static_cast<std::int32_t>(last_delta);
    header.base_timestamp = timestamp;
    header.max_timestamp = timestamp;
    return assemble(header, {});
}

}  // namespace lakestream::codec
