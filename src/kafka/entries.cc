// SPDX-License-Identifier: Apache-2.0
// Checks, stamps and searches record batches.
#include "kafka/entries.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "codec/batch_builder.h"
#include "codec/record_batch.h"
#include "codec/record_reader.h"
#include "kafka/topic_configs.h"

namespace lakestream::kafka {

namespace {

using codec::BatchHeader;

constexpr std::size_t decompressed_bytes_max = 32 << 20;
constexpr std::int16_t first_produce_version_with_zstd = 7;

template <class... Args>
std::unexpected<RecordsRefusal> refusal(
    KafkaError code, fmt::format_string<Args...> format, Args&&... args
) {
    return std::unexpected(RecordsRefusal{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// Whether the topic takes the producer's timestamps.
bool is_timely(const BatchHeader& header, const catalog::Properties& properties, WallTime now) {
    if (header.timestamp_type() != codec::TimestampType::create_time) {
        return false;
    }
    const std::int64_t ahead = header.max_timestamp - to_ms(now);
    return has_append_time(properties) ||
           (ahead <= config_integer(properties, "message.timestamp.after.max.ms") &&
            (header.max_timestamp < 0 ||
             -ahead <= config_integer(properties, "message.timestamp.before.max.ms")));
}

/// A copy of a batch whose records all have the time `now`.
Bytes with_append_time(const Bytes& batch, WallTime now) {
    std::vector<std::byte> stamped(batch.begin(), batch.end());
    codec::stamp_append_time(stamped, to_ms(now));
    return Bytes::own(std::move(stamped));
}

std::expected<void, RecordsRefusal> check_header(
    const BatchHeader& header,
    const catalog::Properties& properties,
    std::int16_t produce_version,
    WallTime now
) {
    if (header.base_offset != Offset(0)) {
        return refusal(
            KafkaError::invalid_record, "The base offset is {}, not 0.", header.base_offset.v
        );
    }
    if (header.codec() == codec::Compression::zstd &&
        produce_version < first_produce_version_with_zstd) {
        return refusal(
            KafkaError::unsupported_compression_type,
            "zstd needs Produce {} or newer.",
            first_produce_version_with_zstd
        );
    }
    if (header.is_transactional()) {
        return refusal(KafkaError::invalid_request, "Transactions are not served by this broker.");
    }
    if (header.has_producer() && (header.base_sequence < 0 || header.producer_epoch < 0)) {
        return refusal(
            KafkaError::invalid_record,
            "Invalid sequence {} or epoch {} of producer {}.",
            header.base_sequence,
            header.producer_epoch,
            header.producer_id
        );
    }
    if (!is_timely(header, properties, now)) {
        return refusal(
            KafkaError::invalid_timestamp,
            "Timestamp {} is not a create time in the range that the topic allows.",
            header.max_timestamp
        );
    }
    return {};
}

/// Calls `visitor(header, batch, base_offset)` for each batch until it gives false. The last offset
/// of a batch follows from its record count, the base from its last offset delta.
template <class Visitor>
Status each_batch(const log::ReadEntry& entry, Visitor&& visitor) {
    Offset next = entry.range.begin;
    for (Bytes left = entry.payload; !left.empty();) {
        const BatchHeader header = LKS_TRY(codec::read_batch_header(left.span()));
        const Offset end = next + header.record_count;
        const Offset base = end - 1 - header.last_offset_delta;
        if (!visitor(header, left.slice(0, header.size()), base, end)) {
            break;
        }
        next = end;
        left = left.slice(header.size(), left.size() - header.size());
    }
    return {};
}

Slices void_batches(OffsetRange range) {
    Slices batches;
    while (!range.empty()) {
        const std::int64_t count =
            std::min<std::int64_t>(range.count(), std::numeric_limits<std::int32_t>::max());
        batches.append(codec::empty_batch(range.begin, range.begin + (count - 1)));
        range.begin = range.begin + count;
    }
    return batches;
}

/// Calls `visitor(RecordTime)` for each record until it gives false.
template <class Visitor>
Status each_record(const Bytes& batch, Offset base, Visitor&& visitor) {
    codec::RecordReader records = LKS_TRY(codec::RecordReader::open(batch, decompressed_bytes_max));
    for (codec::Record record; records.next_without_headers(record);) {
        if (!visitor(RecordTime{base + record.offset_delta, record.timestamp})) {
            return {};
        }
    }
    return records.status();
}

}  // namespace

bool has_append_time(const catalog::Properties& properties) {
    return config_text(properties, "message.timestamp.type") == "LogAppendTime";
}

std::optional<codec::Compression> topic_codec(const catalog::Properties& properties) {
    const std::string_view type = config_text(properties, "compression.type");
    for (unsigned number = 0; const auto codec = codec::compression_from(number); ++number) {
        const std::string_view name =
            *codec == codec::Compression::none ? "uncompressed" : codec::to_string(*codec);
        if (type == name) {
            return codec;
        }
    }
    return std::nullopt;
}

std::expected<log::AppendRequest, RecordsRefusal> entry_of_records(
    const Bytes& records,
    const catalog::Properties& properties,
    std::int16_t produce_version,
    WallTime now
) {
    const std::int64_t bytes_max = config_integer(properties, "max.message.bytes");
    if (static_cast<std::int64_t>(records.size()) > bytes_max) {
        return refusal(
            KafkaError::message_too_large,
            "A batch of {} bytes; max.message.bytes is {}.",
            records.size(),
            bytes_max
        );
    }
    const auto headers = codec::validate_batches(records.span(), {});
    if (!headers.ok()) {
        return refusal(records_to_kafka(headers.error()), "{}", headers.error().message);
    }
    const BatchHeader& header = headers->front();
    if (auto checked = check_header(header, properties, produce_version, now);
        !checked.has_value()) {
        return std::unexpected(std::move(checked).error());
    }
    if (const Status inside = codec::check_plain_records(records); !inside.ok()) {
        return refusal(records_to_kafka(inside.error()), "{}", inside.error().message);
    }
    log::AppendRequest entry{
        .payload = records,
        .records = header.record_count,
        .max_timestamp = header.max_timestamp,
        .checked = log::CheckedBytes{.begin = codec::batch_crc_begin, .crc32c = header.crc},
    };
    if (header.has_producer()) {
        entry.producer = log::ProducerStamp{
            .id = header.producer_id,
            .epoch = header.producer_epoch,
            .base_sequence = header.base_sequence,
        };
    }
    if (has_append_time(properties)) {
        entry.payload = with_append_time(records, now);
        entry.max_timestamp = to_ms(now);
        entry.checked.reset();
    }
    return entry;
}

Result<Slices> stamp_entry(const log::ReadEntry& entry, Offset from, std::int32_t leader_epoch) {
    if (entry.is_void) {
        return void_batches(entry.range);
    }
    Slices stamped;
    LKS_TRY(each_batch(entry, [&](const BatchHeader&, const Bytes& batch, Offset base, Offset end) {
        if (from < end) {
            std::vector<std::byte> head(batch.begin(), batch.begin() + codec::batch_header_bytes);
            codec::patch_base_offset(head.data(), base, leader_epoch);
            stamped.append(Bytes::own(std::move(head)));
            stamped.append(
                batch.slice(codec::batch_header_bytes, batch.size() - codec::batch_header_bytes)
            );
        }
        return true;
    }));
    return stamped;
}

Result<std::optional<RecordTime>> first_since(
    const log::ReadEntry& entry, Offset from, std::int64_t timestamp
) {
    std::optional<RecordTime> found;
    Status inside;
    LKS_TRY(each_batch(
        entry,
        [&](const BatchHeader& header, const Bytes& batch, Offset base, Offset end) {
            if (end <= from || header.max_timestamp < timestamp) {
                return true;
            }
            inside = each_record(batch, base, [&](RecordTime record) {
                if (record.offset >= from && record.timestamp >= timestamp) {
                    found = record;
                }
                return !found.has_value();
            });
            if (inside.is(ErrorCode::exhausted)) {
                inside = {};
                found = RecordTime{std::max(base, from), header.max_timestamp};
            }
            return inside.ok() && !found.has_value();
        }
    ));
    LKS_TRY(std::move(inside));
    return found;
}

Result<std::optional<RecordTime>> latest_record(const log::ReadEntry& entry) {
    std::optional<RecordTime> best;
    Status inside;
    LKS_TRY(each_batch(
        entry,
        [&](const BatchHeader& header, const Bytes& batch, Offset base, Offset end) {
            if (best.has_value() && header.max_timestamp <= best->timestamp) {
                return true;
            }
            inside = each_record(batch, base, [&](RecordTime record) {
                if (!best.has_value() || record.timestamp > best->timestamp) {
                    best = record;
                }
                return true;
            });
            if (inside.is(ErrorCode::exhausted)) {
                inside = {};
                best = RecordTime{end - 1, header.max_timestamp};
            }
            return inside.ok();
        }
    ));
    LKS_TRY(std::move(inside));
    return best;
}

}  // namespace lakestream::kafka
