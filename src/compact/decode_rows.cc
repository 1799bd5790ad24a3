// SPDX-License-Identifier: Apache-2.0
// Walking the batches of an entry.
#include "compact/decode_rows.h"

#include <utility>
#include <vector>

#include "base/format.h"
#include "codec/record_batch.h"
#include "codec/record_reader.h"

namespace lakestream::compact {

namespace {

/// Whether every record of the batch decodes. A copy of a reader shares the decompressed bytes.
Status look_through(codec::RecordReader records) {
    for (codec::Record record; records.next(record);) {
    }
    return records.status();
}

Status add_rows(
    std::int32_t partition,
    Offset base,
    codec::RecordReader records,
    const std::function<Status(const table::Row&)>& row
) {
    std::vector<table::RowHeader> headers;
    for (codec::Record record; records.next(record);) {
        headers.clear();
        for (const codec::RecordHeader& header : record.headers) {
            headers.push_back({header.key, header.value});
        }
        LKS_TRY(row({
            .partition = partition,
            .offset = base.v + record.offset_delta,
            .timestamp_ms = record.timestamp,
            .key = record.key,
            .value = record.value,
            .headers = headers,
        }));
    }
    return {};
}

}  // namespace

namespace {

Status check_entry(const SpilledEntry& entry) {
    std::span<const std::byte> rest = entry.payload.span();
    for (auto header = codec::read_batch_header(rest); header.ok();
         header = codec::read_batch_header(rest)) {
        if (const Status crc = codec::check_batch_crc(*header, rest); !crc.ok()) {
            return corrupt(
                "offsets {} to {}: {}", entry.range.begin, entry.range.end - 1, crc.error().message
            );
        }
        rest = rest.subspan(header->size());
    }
    return {};
}

}  // namespace

Status check_batches(std::span<const SpilledEntry> entries) {
    for (const SpilledEntry& entry : entries) {
        LKS_TRY(check_entry(entry));
    }
    return {};
}

Status decode_rows(
    std::int32_t partition,
    const SpilledEntry& entry,
    const std::function<Status(const table::Row&)>& row,
    const UnreadableSink& unreadable
) {
    Offset base = entry.range.begin;
    std::size_t at = 0;
    while (base < entry.range.end) {
        const Bytes rest = entry.payload.slice(at, entry.payload.size() - at);
        const auto header = codec::read_batch_header(rest.span());
        const Offset next = header.ok() ? base + header->last_offset_delta + 1 : base;
        if (!header.ok() || next <= base || next > entry.range.end) {
            // Where the next batch would begin is not known.
            unreadable(
                {base, entry.range.end},
                header.ok() ? corrupt("its records are not as many as the index says")
                            : header.error()
            );
            return {};
        }
        auto records = codec::RecordReader::open(rest, batch_bytes_max);
        const Status whole = records.ok() ? look_through(*records) : Status(records.error());
        if (whole.ok()) {
            LKS_TRY(add_rows(partition, base, std::move(*records), row));
        } else {
            unreadable({base, next}, whole.error());
        }
        base = next;
        at += header->size();
    }
    return {};
}

}  // namespace lakestream::compact
