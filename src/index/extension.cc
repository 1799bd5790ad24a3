// SPDX-License-Identifier: Apache-2.0
// Runs of idempotent producers, and the checksum, in an index record's own field.
#include "index/extension.h"

#include <limits>
#include <map>
#include <utility>

#include "base/assert.h"
#include "codec/reader.h"
#include "codec/record_batch.h"
#include "codec/varint.h"
#include "codec/writer.h"

namespace lakestream::index {

namespace {

constexpr std::uint8_t extension_version = 1;

constexpr std::uint32_t has_length = 1;     // bits of a run
constexpr std::uint32_t has_sequence = 2;   //
constexpr std::uint32_t transactional = 1;  // bits of a producer
constexpr std::uint32_t control = 2;        //
constexpr unsigned flag_bits = 2;

std::size_t entries_of(const IndexRecord& record) {
    return record.entry_offsets.empty() ? 1 : record.entry_offsets.size();
}

std::int32_t records_of(const IndexRecord& record, std::size_t entry) {
    if (record.entry_offsets.empty()) {
        return record.message_count;
    }
    const std::uint32_t before = entry == 0 ? 0 : record.entry_offsets[entry - 1];
    return static_cast<std::int32_t>(record.entry_offsets[entry] - before);
}

std::int32_t following_sequence(const ProducerEntry& producer, const IndexRecord& record) {
    return codec::sequence_after(producer.base_sequence, records_of(record, producer.entry));
}

/// What entries have in common that are named by one producer row.
using ProducerRow = std::pair<std::int64_t, std::uint32_t>;  // id, epoch and flags

ProducerRow row_of(const ProducerEntry& producer) {
    const std::uint32_t flags =
        (producer.is_transactional ? transactional : 0) | (producer.is_control ? control : 0);
    return {producer.producer_id, codec::zigzag(std::int32_t{producer.epoch}) << flag_bits | flags};
}

ProducerEntry first_of(const ProducerRow& row) {
    return {
        .producer_id = row.first,
        .epoch = static_cast<std::int16_t>(codec::unzigzag(row.second >> flag_bits)),
        .is_transactional = (row.second & transactional) != 0,
        .is_control = (row.second & control) != 0,
    };
}

/// How many of `producers` make one run.
std::size_t run_length(std::span<const ProducerEntry> producers, const IndexRecord& record) {
    std::size_t length = 1;
    while (length < producers.size()) {
        const ProducerEntry& last = producers[length - 1];
        const ProducerEntry& next = producers[length];
        if (next.entry != last.entry + 1 || row_of(next) != row_of(last) ||
            next.base_sequence != following_sequence(last, record)) {
            break;
        }
        ++length;
    }
    return length;
}

void put_run(
    codec::Writer& out,
    std::size_t producer,
    std::size_t length,
    std::optional<std::int32_t> sequence
) {
    const std::uint32_t flags = (length != 1 ? has_length : 0) | (sequence ? has_sequence : 0);
    out.uvarint(static_cast<std::uint32_t>(producer) << flag_bits | flags);
    if (length != 1) {
        out.uvarint(static_cast<std::uint32_t>(length));
    }
    if (sequence) {
        out.varint(*sequence);
    }
}

/// One run as it stands on the wire.
struct Run {
    std::uint32_t producer = 0;  // from 1 on; 0: none
    std::uint32_t length = 1;
    std::optional<std::int32_t> sequence;
};

Run read_run(codec::Reader& in) {
    const std::uint32_t head = in.uvarint();
    Run run{.producer = head >> flag_bits};
    if ((head & has_length) != 0) {
        run.length = in.uvarint();
    }
    if ((head & has_sequence) != 0) {
        run.sequence = in.varint();
    }
    return run;
}

/// The rows, each as the entry that would come next without a sequence of its own.
std::vector<ProducerEntry> read_rows(codec::Reader& in) {
    std::vector<ProducerEntry> rows;
    std::uint64_t id = 0;
    for (std::uint32_t left = in.uvarint(); left > 0 && in.ok(); --left) {
        id += static_cast<std::uint64_t>(in.varlong());
        const std::uint32_t epoch_and_flags = in.uvarint();
        rows.push_back(first_of({static_cast<std::int64_t>(id), epoch_and_flags}));
    }
    return rows;
}

}  // namespace

Bytes encode_extension(const Extension& extension, const IndexRecord& record) {
    codec::Writer rows;
    codec::Writer runs;
    std::map<ProducerRow, std::pair<std::size_t, std::int32_t>> known;  // number, next sequence
    std::uint64_t id = 0;
    std::size_t entry = 0;
    for (std::span<const ProducerEntry> left(extension.producers); !left.empty();) {
        const std::size_t length = run_length(left, record);
        const ProducerEntry& first = left.front();
        const ProducerEntry& last = left[length - 1];
        LKS_ASSERT(first.entry >= entry && last.entry < entries_of(record));
        const ProducerRow row = row_of(first);
        const auto [at, is_new] = known.try_emplace(row, known.size() + 1, 0);
        if (is_new) {
            const auto row_id = static_cast<std::uint64_t>(row.first);
            rows.varlong(static_cast<std::int64_t>(row_id - std::exchange(id, row_id)));
            rows.uvarint(row.second);
        }
        if (first.entry > entry) {
            put_run(runs, 0, first.entry - entry, std::nullopt);
        }
        auto& [number, sequence] = at->second;
        put_run(
            runs,
            number,
            length,
            first.base_sequence != sequence ? std::optional(first.base_sequence) : std::nullopt
        );
        sequence = following_sequence(last, record);
        entry = std::size_t{last.entry} + 1;
        left = left.subspan(length);
    }
    codec::Writer out;
    out.uint8(extension_version);
    out.uint32(extension.crc32c);
    out.varlong(extension.max_timestamp);
    out.uvarint(static_cast<std::uint32_t>(known.size()));
    out.raw(rows.finish().join().span());
    out.raw(runs.finish().join().span());
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
    std::vector<ProducerEntry> rows = read_rows(in);
    const std::size_t entries = entries_of(record);
    extension.producers.reserve(rows.empty() ? 0 : entries);
    std::size_t entry = 0;
    while (in.remaining() > 0) {
        const Run run = read_run(in);
        if (run.length == 0 || run.length > entries - entry || run.producer > rows.size()) {
            in.fail();
        }
        if (!in.ok()) {
            break;
        }
        const std::size_t end = entry + run.length;
        if (run.producer == 0) {
            entry = end;
            continue;
        }
        ProducerEntry& row = rows[run.producer - 1];
        std::int32_t sequence = run.sequence.value_or(row.base_sequence);
        for (; entry < end; ++entry) {
            ProducerEntry& next = extension.producers.emplace_back(row);
            next.entry = static_cast<std::uint32_t>(entry);
            next.base_sequence = sequence;
            sequence = codec::sequence_after(sequence, records_of(record, entry));
        }
        row.base_sequence = sequence;
    }
    LKS_TRY(in.status("index record extension"));
    return std::optional(std::move(extension));
}

}  // namespace lakestream::index
