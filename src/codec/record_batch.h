// SPDX-License-Identifier: Apache-2.0
// Headers of Kafka record batches of format 2: reading, validating without decompressing, patching.
//
//   at  size  field                 (all big-endian; docs/formats/kafka-record-batch.md)
//    0     8  base offset           outside the CRC: patched when read
//    8     4  length                of what follows this field
//   12     4  partition leader epoch  outside the CRC: patched when read
//   16     1  magic                 2
//   17     4  crc                   CRC-32C of everything from the attributes on
//   21     2  attributes            bits 0-2 codec, 3 timestamp is append time, 4 transactional,
//                                   5 control, 6 base timestamp is delete horizon
//   23     4  last offset delta
//   27     8  base timestamp        ms since 1970
//   35     8  max timestamp         ms since 1970
//   43     8  producer id           -1 = none
//   51     2  producer epoch
//   53     4  base sequence
//   57     4  record count
//   61        records, compressed together (record_reader.h)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/compress.h"
#include "lakestream/bytes.h"
#include "lakestream/result.h"
#include "lakestream/types.h"

namespace lakestream::codec {

inline constexpr std::size_t batch_header_bytes = 61;
/// Base offset and length: in front of every batch, of every format.
inline constexpr std::size_t batch_prefix_bytes = 12;
/// What a batch's CRC covers begins here, and ends where the batch does.
inline constexpr std::size_t batch_crc_begin = 21;
inline constexpr std::int8_t batch_magic = 2;

/// Why a batch is refused: `Error::reason` of this header's functions. In brackets Kafka's error.
enum class BatchFault : std::uint16_t {
    cut_short = 1,  // fewer bytes than the length says, or than a header has [CORRUPT_MESSAGE]
    length,         // a length that no batch has, or above the limit [CORRUPT_MESSAGE]
    magic,          // format 0, 1 or unknown [UNSUPPORTED_FOR_MESSAGE_FORMAT]
    crc,            // the CRC differs [CORRUPT_MESSAGE]
    codec,          // unknown compression [UNSUPPORTED_COMPRESSION_TYPE]
    count,          // no records, or not as many as offsets [INVALID_RECORD]
    control,        // a control batch, which only brokers write [INVALID_RECORD]
    timestamp,      // before 1970 and not the -1 of "none" [INVALID_TIMESTAMP]
    batches,        // no batch, or more than allowed [INVALID_RECORD]
    record,         // the records inside are malformed [INVALID_RECORD]
};

enum class TimestampType : std::uint8_t { create_time = 0, log_append_time = 1 };

/// A batch's header as read. Value.
struct BatchHeader {
    Offset base_offset;
    std::int32_t length = 0;  // bytes after this field
    std::int32_t leader_epoch = -1;
    std::int8_t magic = batch_magic;
    std::uint32_t crc = 0;
    std::uint16_t attributes = 0;
    std::int32_t last_offset_delta = 0;
    std::int64_t base_timestamp = -1;  // ms
    std::int64_t max_timestamp = -1;   // ms
    std::int64_t producer_id = -1;
    std::int16_t producer_epoch = -1;
    std::int32_t base_sequence = -1;
    std::int32_t record_count = 0;

    /// Bytes of the whole batch.
    std::size_t size() const noexcept {
        return batch_prefix_bytes + static_cast<std::size_t>(length);
    }
    /// Wraps, for a base offset that no log has: a producer may write anything there.
    Offset last_offset() const noexcept {
        return Offset(static_cast<std::int64_t>(
            static_cast<std::uint64_t>(base_offset.v) +
            static_cast<std::uint64_t>(last_offset_delta)
        ));
    }
    /// Precondition: the header came from a function below, which checked the codec.
    Compression codec() const noexcept { return static_cast<Compression>(attributes & 7); }
    TimestampType timestamp_type() const noexcept {
        return static_cast<TimestampType>((attributes >> 3) & 1);
    }
    bool is_transactional() const noexcept { return (attributes & 0x10) != 0; }
    bool is_control() const noexcept { return (attributes & 0x20) != 0; }
    bool has_delete_horizon() const noexcept { return (attributes & 0x40) != 0; }
    bool has_producer() const noexcept { return producer_id >= 0; }

    bool operator==(const BatchHeader&) const = default;
};

/// The sequence number that follows `sequence` by `count` records, wrapping from 2^31 - 1 to 0
/// (KIP-98).
constexpr std::int32_t sequence_after(std::int32_t sequence, std::int32_t count) noexcept {
    constexpr std::int64_t modulus = std::int64_t{1} << 31;
    return static_cast<std::int32_t>((std::int64_t{sequence} + count) % modulus);
}

/// The header of the batch that `bytes` begin with; more may follow. Checks length, magic and
/// codec, and that the whole batch is there: `header.size()` leads to the next one. Reads no other
/// byte than the header's. Errors have a BatchFault as reason: `unsupported` for magic and codec,
/// else `corrupt`.
Result<BatchHeader> read_batch_header(std::span<const std::byte> bytes);

/// The largest timestamp that the headers of an entry's batches, back to back, name; -1 when none
/// does. Cost: the headers. Errors as above.
Result<std::int64_t> newest_timestamp(std::span<const std::byte> batches);

/// Whether the CRC is right, for the batch that `bytes` begin with and whose header was read.
Status check_batch_crc(const BatchHeader& header, std::span<const std::byte> bytes);

struct BatchLimits {
    std::size_t batches_max = 1;  // Kafka's own rule for one partition of a Produce request
    std::size_t batch_bytes_max = 1UL << 30;
    /// Compressed records are not counted, so any number may be claimed; a log's offsets are its.
    std::int32_t batch_records_max = 1 << 24;
};

/// What a producer may send for one partition: whole batches, back to back, to the last byte. Each
/// is checked like `read_batch_header()`, and for its CRC, for as many records as offsets and at
/// least one, for timestamps, and for not being a control batch. Nothing is decompressed. What
/// depends on the topic or on a producer's state is the caller's to check. Errors as above.
Result<std::vector<BatchHeader>> validate_batches(
    std::span<const std::byte> records, const BatchLimits& limits
);

/// Give a batch its place in the log: the fields outside the CRC. Precondition: a whole header at
/// `batch`.
void patch_base_offset(
    std::byte* batch, Offset base_offset, std::int32_t leader_epoch = -1
) noexcept;

/// Give all records of a batch this time of being appended, in milliseconds, and the batch its CRC.
/// Precondition: `batch` is a whole batch. Cost: one pass over it.
void stamp_append_time(std::span<std::byte> batch, std::int64_t milliseconds) noexcept;

}  // namespace lakestream::codec
