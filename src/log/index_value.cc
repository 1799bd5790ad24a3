// SPDX-License-Identifier: Apache-2.0
// Index records of sections, both ways.
#include "log/index_value.h"

#include <algorithm>
#include <span>

#include "codec/crc32c.h"
#include "index/key.h"
#include "wal/object_name.h"

namespace lakestream::log {

namespace {

/// The CRC of what has `crc` and of the payload behind it.
std::uint32_t crc32c_after(std::uint32_t crc, const AppendRequest& request) {
    const std::span<const std::byte> payload = request.payload.span();
    if (!request.checked.has_value()) {
        return codec::crc32c(payload, crc);
    }
    const std::size_t begin = request.checked->begin;
    return codec::crc32c_combine(
        codec::crc32c(payload.first(begin), crc), request.checked->crc32c, payload.size() - begin
    );
}

}  // namespace

index::IndexRecord to_index_record(const Section& section, const wal::BuiltObject& object) {
    index::IndexRecord record{
        .location = section.location,
        .file_type = index::FileType::raw,
        .index_type =
            object.sections.size() == 1 ? index::IndexType::compact : index::IndexType::normal,
        .message_count = static_cast<std::int32_t>(section.records),
        .entry_size_bytes = static_cast<std::int64_t>(section.bytes),
        .file_size = static_cast<std::int64_t>(object.payload_bytes),
        .offset_in_file = -1,
        .entry_count = static_cast<std::int32_t>(section.entries.size()),
    };
    index::Extension extension;
    std::uint32_t records = 0;
    for (std::uint32_t i = 0; i < section.entries.size(); ++i) {
        const AppendRequest& request = section.entries[i].request;
        records += static_cast<std::uint32_t>(request.records);
        if (section.entries.size() > 1) {
            record.entry_offsets.push_back(records);
        }
        extension.crc32c = crc32c_after(extension.crc32c, request);
        extension.max_timestamp = std::max(extension.max_timestamp, request.max_timestamp);
        if (const auto& producer = request.producer) {
            extension.producers.push_back(
                {i, producer->id, producer->epoch, producer->base_sequence}
            );
        }
    }
    record.extension = std::move(extension);
    return record;
}

Result<FoldRecord> to_fold_record(
    LogId log, const meta::Record& record, const index::IndexRecord& value
) {
    const index::IndexKey key = LKS_TRY(index::parse_key(log, record.key));
    const std::vector<std::int32_t> records = LKS_TRY(value.entry_records());
    FoldRecord folded{
        .range = {key.end - value.message_count, key.end},
        .created = record.version.created,
        .writer = record.version.identity.has_value() ? WriterStamp::parse(*record.version.identity)
                                                      : std::nullopt,
        .object_date = wal::object_date(value.location),
        .entries = {},
    };
    folded.entries.reserve(records.size());
    for (const std::int32_t count : records) {
        folded.entries.push_back({.records = count, .producer = {}});
    }
    if (value.extension.has_value()) {
        for (const index::ProducerEntry& producer : value.extension->producers) {
            folded.entries[producer.entry].producer =
                ProducerStamp{producer.producer_id, producer.epoch, producer.base_sequence};
        }
    }
    return folded;
}

Result<WalkRecord> to_walk_record(LogId log, const meta::Record& record) {
    auto value = LKS_TRY(index::IndexRecord::decode(record.value));
    const index::IndexKey key = LKS_TRY(index::parse_key(log, record.key));
    const OffsetRange range{key.end - value.message_count, key.end};
    return WalkRecord{
        .range = range,
        .cumulative = key.cumulative,
        .created = record.version.created,
        .value = std::move(value),
        .voids = {},
    };
}

}  // namespace lakestream::log
