// SPDX-License-Identifier: Apache-2.0
// Runs of idempotent producers, and the checksum, in an index record's own field.
#include "index/extension.h"

#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::index {

namespace {

constexpr std::uint8_t extension_version = 1;

/// The sequence after `count` more records; sequences wrap from 2^31 - 1 to 0.
std::int32_t sequence_after(std::int32_t sequence, std::int32_t count) {
    constexpr std::int64_t modulus = std::int64_t{1} << 31;
    return static_cast<std::int32_t>((std::int64_t{sequence} + count) % modulus);
}

std::int32_t records_of(const IndexRecord& record, std::size_t entry) {
    if (record.entry_offsets.empty()) {
        return record.message_count;
    }
    const std::uint32_t before = entry == 0 ? 0 : record.entry_offsets[entry - 1];
    return static_cast<std::int32_t>(record.entry_offsets[entry] - before);
}

/// How many of `producers` from `first` on make one run.
std::size_t run_length(
    const std::vector<ProducerEntry>& producers, std::size_t first, const IndexRecord& record
) {
    std::size_t length = 1;
    while (first + length < producers.size()) {
        const ProducerEntry& last = producers[first + length - 1];
        const ProducerEntry& next = producers[first + length];
        const std::int32_t follows =
            sequence_after(last.base_sequence, records_of(record, last.entry));
        if (next.entry != last.entry + 1 || next.producer_id != last.producer_id ||
            next.epoch != last.epoch || next.base_sequence != follows) {
            break;
        }
        ++length;
    }
    return length;
}

}  // namespace

Bytes encode_extension(const Extension& extension, const IndexRecord& record) {
    const std::vector<ProducerEntry>& producers = extension.producers;
    std::uint32_t runs = 0;
    codec::Writer body;
    std::uint32_t entry = 0;
    for (std::size_t i = 0; i < producers.size();) {
        const std::size_t length = run_length(producers, i, record);
        const ProducerEntry& first = producers[i];
        body.uvarint(first.entry - entry);
        body.uvarint(static_cast<std::uint32_t>(length));
        body.varlong(first.producer_id);
        body.varint(first.epoch);
        body.uvarint(static_cast<std::uint32_t>(first.base_sequence));
        entry = first.entry + static_cast<std::uint32_t>(length);
        i += length;
        ++runs;
    }
    codec::Writer out;
    out.uint8(extension_version);
    out.uint32(extension.crc32c);
    out.varlong(extension.max_timestamp);
    out.uvarint(runs);
    out.raw(body.finish().join().span());
    return out.finish().join();
}

Result<std::optional<Extension>> decode_extension(
    std::span<const std::byte> field, const IndexRecord& record
) {
    codec::Reader in(field);
    const std::uint8_t version = in.uint8();
    if (in.ok() && version != extension_version) {
        return std::optional<Extension>();
    }
    Extension extension;
    extension.crc32c = in.uint32();
    extension.max_timestamp = in.varlong();
    const std::size_t entries = record.entry_offsets.empty() ? 1 : record.entry_offsets.size();
    std::size_t entry = 0;
    for (std::uint32_t runs = in.uvarint(); runs > 0 && in.ok(); --runs) {
        entry += in.uvarint();
        const std::uint32_t length = in.uvarint();
        ProducerEntry next{
            .entry = static_cast<std::uint32_t>(entry),
            .producer_id = in.varlong(),
            .epoch = static_cast<std::int16_t>(in.varint()),
            .base_sequence = static_cast<std::int32_t>(in.uvarint()),
        };
        if (length == 0 || length > entries || entry > entries - length || next.base_sequence < 0) {
            in.fail();
            break;
        }
        for (std::uint32_t i = 0; i < length; ++i) {
            extension.producers.push_back(next);
            next.base_sequence = sequence_after(next.base_sequence, records_of(record, next.entry));
            ++next.entry;
        }
        entry += length;
    }
    if (in.remaining() > 0) {
        in.fail();
    }
    LKS_TRY(in.status("index record extension"));
    return std::optional(std::move(extension));
}

}  // namespace lakestream::index
