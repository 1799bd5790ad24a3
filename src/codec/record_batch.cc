// SPDX-License-Identifier: Apache-2.0
// Reading, checking and patching of batch headers.
#include "codec/record_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/endian.h"
#include "base/result.h"
#include "codec/crc32c.h"
#include "codec/reader.h"

namespace lakestream::codec {

namespace {

constexpr std::size_t leader_epoch_at = 12;
constexpr std::size_t magic_at = 16;
constexpr std::size_t crc_at = 17;
constexpr std::size_t attributes_at = batch_crc_begin;
constexpr std::size_t max_timestamp_at = 35;
constexpr std::uint16_t append_time_attribute = 8;
constexpr unsigned codec_bits = 7;
constexpr std::int64_t no_timestamp = -1;

template <class... Args>
Error refused(BatchFault fault, fmt::format_string<Args...> format, Args&&... args) {
    const bool unknown_form = fault == BatchFault::magic || fault == BatchFault::codec;
    Error error =
        make_error(ErrorCode::corrupt, format, std::forward<Args>(args)...).with_context("batch");
    error.code = unknown_form ? ErrorCode::unsupported : ErrorCode::corrupt;
    error.reason = static_cast<std::uint16_t>(fault);
    return error;
}

Status check_counts_and_times(const BatchHeader& header) {
    if (header.record_count <= 0) {
        return refused(BatchFault::count, "{} records", header.record_count);
    }
    if (header.record_count - 1 != header.last_offset_delta) {
        return refused(
            BatchFault::count,
            "{} records, but a last offset delta of {}",
            header.record_count,
            header.last_offset_delta
        );
    }
    if (header.is_control()) {
        return refused(BatchFault::control, "control batch from a producer");
    }
    if (header.base_timestamp < no_timestamp || header.max_timestamp < no_timestamp) {
        return refused(
            BatchFault::timestamp,
            "timestamps {} to {}",
            header.base_timestamp,
            header.max_timestamp
        );
    }
    return {};
}

}  // namespace

Result<BatchHeader> read_batch_header(std::span<const std::byte> bytes) {
    if (bytes.size() <= magic_at) {
        return refused(BatchFault::cut_short, "{} bytes", bytes.size());
    }
    // The magic stands at the same place in every format, so it is looked at before all else.
    if (const auto magic = std::to_integer<int>(bytes[magic_at]); magic != batch_magic) {
        return refused(BatchFault::magic, "message format {}; only 2 is supported", magic);
    }
    if (bytes.size() < batch_header_bytes) {
        return refused(BatchFault::cut_short, "{} bytes of a header", bytes.size());
    }
    Reader in(bytes);
    BatchHeader header;
    header.base_offset = Offset(in.int64());
    header.length = in.int32();
    header.leader_epoch = in.int32();
    header.magic = in.int8();
    header.crc = in.uint32();
    header.attributes = in.uint16();
    header.last_offset_delta = in.int32();
    header.base_timestamp = in.int64();
    header.max_timestamp = in.int64();
    header.producer_id = in.int64();
    header.producer_epoch = in.int16();
    header.base_sequence = in.int32();
    header.record_count = in.int32();
    constexpr auto length_min = static_cast<int>(batch_header_bytes - batch_prefix_bytes);
    if (header.length < length_min) {
        return refused(BatchFault::length, "length {}", header.length);
    }
    if (header.size() > bytes.size()) {
        return refused(BatchFault::cut_short, "{} of {} bytes", bytes.size(), header.size());
    }
    if (!compression_from(header.attributes & codec_bits)) {
        return refused(BatchFault::codec, "compression {}", header.attributes & codec_bits);
    }
    return header;
}

Result<std::int64_t> newest_timestamp(std::span<const std::byte> batches) {
    std::int64_t newest = no_timestamp;
    while (!batches.empty()) {
        const BatchHeader header = LKS_TRY(read_batch_header(batches));
        newest = std::max(newest, header.max_timestamp);
        batches = batches.subspan(header.size());
    }
    return newest;
}

Status check_batch_crc(const BatchHeader& header, std::span<const std::byte> bytes) {
    const auto covered = bytes.first(header.size()).subspan(batch_crc_begin);
    const std::uint32_t crc = crc32c(covered);
    if (crc != header.crc) {
        return refused(BatchFault::crc, "CRC {:08x}, but its bytes have {:08x}", header.crc, crc);
    }
    return {};
}

Result<std::vector<BatchHeader>> validate_batches(
    std::span<const std::byte> records, const BatchLimits& limits
) {
    std::vector<BatchHeader> headers;
    while (!records.empty()) {
        if (headers.size() == limits.batches_max) {
            return refused(BatchFault::batches, "more than {}", limits.batches_max);
        }
        const BatchHeader header = LKS_TRY(read_batch_header(records));
        if (header.size() > limits.batch_bytes_max) {
            return refused(BatchFault::length, "{} bytes", header.size());
        }
        LKS_TRY(check_batch_crc(header, records));
        LKS_TRY(check_counts_and_times(header));
        if (header.record_count > limits.batch_records_max) {
            return refused(
                BatchFault::count,
                "{} records, at most {}",
                header.record_count,
                limits.batch_records_max
            );
        }
        headers.push_back(header);
        records = records.subspan(header.size());
    }
    if (headers.empty()) {
        return refused(BatchFault::batches, "none");
    }
    return headers;
}

void patch_base_offset(std::byte* batch, Offset base_offset, std::int32_t leader_epoch) noexcept {
    store_be(batch, base_offset.v);
    store_be(batch + leader_epoch_at, leader_epoch);
}

void stamp_append_time(std::span<std::byte> batch, std::int64_t milliseconds) noexcept {
    std::byte* const bytes = batch.data();
    const auto attributes = load_be<std::uint16_t>(bytes + attributes_at);
    store_be(bytes + attributes_at, static_cast<std::uint16_t>(attributes | append_time_attribute));
    store_be(bytes + max_timestamp_at, milliseconds);
    store_be(bytes + crc_at, crc32c(batch.subspan(batch_crc_begin)));
}

}  // namespace lakestream::codec
