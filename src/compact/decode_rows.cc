// SPDX-License-Identifier: Apache-2.0
// Walking the batches of an entry.
#include "compact/decode_rows.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "codec/record_reader.h"

namespace lakestream::compact {

namespace {

Status decode_batch(
    std::int32_t partition,
    Offset base,
    codec::RecordReader& records,
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
    return records.status();
}

}  // namespace

Status decode_rows(
    std::int32_t partition,
    const SpilledEntry& entry,
    const std::function<Status(const table::Row&)>& row
) {
    Offset base = entry.range.begin;
    std::size_t at = 0;
    const auto in_context = [&](Error error) {
        return std::move(error).with_context(fmt::format("batch at offset {}", base.v));
    };
    while (at < entry.payload.size()) {
        const Bytes rest = entry.payload.slice(at, entry.payload.size() - at);
        auto records = codec::RecordReader::open(rest, batch_bytes_max);
        if (!records.ok()) {
            return in_context(std::move(records.error()));
        }
        const codec::BatchHeader header = records->header();
        Status decoded = decode_batch(partition, base, *records, row);
        if (!decoded.ok()) {
            return decoded.is(ErrorCode::corrupt) ? in_context(std::move(decoded.error()))
                                                  : std::move(decoded);
        }
        base = base + header.last_offset_delta + 1;
        at += header.size();
    }
    if (base != entry.range.end) {
        return corrupt(
            "entry at offset {} holds {} records, the index says {}",
            entry.range.begin.v,
            base - entry.range.begin,
            entry.range.count()
        );
    }
    return {};
}

}  // namespace lakestream::compact
