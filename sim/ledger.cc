// SPDX-License-Identifier: Apache-2.0
// The judgements that can be made at once.
#include "sim/ledger.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "codec/record_batch.h"

namespace lakestream::sim {

namespace {

/// Equal but for what the broker stamps: base offset and leader epoch.
bool same_batch(const Bytes& a, const Bytes& b) {
    constexpr std::size_t length_at = 8;
    constexpr std::size_t length_bytes = 4;
    constexpr std::size_t magic_at = 16;
    return a.size() == b.size() &&
           std::memcmp(a.data() + length_at, b.data() + length_at, length_bytes) == 0 &&
           std::memcmp(a.data() + magic_at, b.data() + magic_at, a.size() - magic_at) == 0;
}

std::string describe(const Seen& seen) {
    return fmt::format(
        "{} at [{}, {})",
        seen.batch.has_value() ? fmt::format("batch {}", *seen.batch) : "void",
        seen.begin,
        seen.end
    );
}

}  // namespace

Batch& Ledger::add(Batch batch) {
    batch.id = batches_.size();
    const auto header = codec::read_batch_header(batch.bytes.span());
    LKS_ASSERT(header.ok());
    by_crc_.emplace(header->crc, batch.id);
    return batches_.emplace_back(std::move(batch));
}

void Ledger::acknowledge(Batch& batch, Offset offset, std::uint64_t life) {
    ++acknowledged_;
    if (buried_.contains(batch.partition)) {
        return;
    }
    if (batch.acknowledged.has_value() && *batch.acknowledged != offset) {
        world_.violated(
            "INV-NO-DOUBLE",
            fmt::format(
                "batch {} of {} was acknowledged at {} and at {}",
                batch.id,
                batch.partition.to_string(),
                *batch.acknowledged,
                offset
            )
        );
    }
    batch.acknowledged = offset;
    const Offset end = offset + batch.records;
    Offset& last = acknowledged_ends_[batch.partition];
    last = std::max(last, end);
    raise_floor(life, batch.partition, end);
    remember(batch.partition, {.begin = offset, .end = end, .batch = batch.id});
}

Offset Ledger::acknowledged_end(const Partition& partition) const {
    const auto found = acknowledged_ends_.find(partition);
    return found == acknowledged_ends_.end() ? Offset(0) : found->second;
}

std::optional<std::size_t> Ledger::find(const Partition& partition, const Bytes& batch) const {
    const auto header = codec::read_batch_header(batch.span());
    const auto [first, last] = by_crc_.equal_range(header->crc);
    for (auto at = first; at != last; ++at) {
        const Batch& known = batches_[at->second];
        if (known.partition == partition && same_batch(known.bytes, batch)) {
            return known.id;
        }
    }
    return std::nullopt;
}

std::vector<Seen> Ledger::parse(const Partition& partition, Offset from, const Bytes& records) {
    std::vector<Seen> all;
    Bytes left = records;
    while (!left.empty()) {
        const auto header = codec::read_batch_header(left.span());
        if (!header.ok()) {
            if (header.error().reason != static_cast<std::uint16_t>(codec::BatchFault::cut_short)) {
                world_.violated("INV-NO-LOSS", "a fetched batch is malformed");
            }
            break;
        }
        const Bytes batch = left.slice(0, header->size());
        left = left.slice(header->size(), left.size() - header->size());
        Seen seen{.begin = header->base_offset, .end = header->last_offset() + 1, .batch = {}};
        const bool joins =
            all.empty() ? seen.begin <= from && seen.end > from : seen.begin == all.back().end;
        if (!joins) {
            world_.violated(
                "INV-ORDER",
                fmt::format(
                    "{}: a fetch from {} returned [{}, {}) behind {}",
                    partition.to_string(),
                    from,
                    seen.begin,
                    seen.end,
                    all.empty() ? from : all.back().end
                )
            );
        }
        if (header->record_count > 0) {
            seen.batch = find(partition, batch);
            if (!seen.batch.has_value()) {
                world_.violated(
                    "INV-NO-LOSS",
                    fmt::format(
                        "{}: the batch at {} is none that was sent there",
                        partition.to_string(),
                        seen.begin
                    )
                );
            }
        }
        all.push_back(seen);
    }
    return all;
}

Offset Ledger::see(const Partition& partition, Offset from, const Bytes& records) {
    for (const Seen& seen : parse(partition, from, records)) {
        if (seen.batch.has_value()) {
            remember(partition, seen);
        } else {
            // Voids are cut differently by every read: keep them by offset.
            for (Offset at = std::max(seen.begin, from); at < seen.end; at = at + 1) {
                remember(partition, {.begin = at, .end = at + 1, .batch = {}});
            }
        }
        from = seen.end;
    }
    return from;
}

void Ledger::remember(const Partition& partition, const Seen& seen) {
    if (buried_.contains(partition)) {
        return;
    }
    auto& log = seen_[partition];
    const auto after = log.upper_bound(seen.begin);
    const bool overlaps_next = after != log.end() && after->first < seen.end;
    const bool known = after != log.begin() && std::prev(after)->second == seen;
    const bool overlaps_last = after != log.begin() && std::prev(after)->second.end > seen.begin;
    if (overlaps_next || (overlaps_last && !known)) {
        world_.violated(
            "INV-PREFIX",
            fmt::format(
                "{}: batch {} at [{}, {}), where {} was seen or acknowledged",
                partition.to_string(),
                seen.batch.has_value() ? std::to_string(*seen.batch) : "void",
                seen.begin,
                seen.end,
                describe(overlaps_last ? std::prev(after)->second : after->second)
            )
        );
    }
    if (known) {
        return;
    }
    log.emplace(seen.begin, seen);
    if (seen.batch.has_value()) {
        const auto [place, added] = places_.try_emplace({partition, *seen.batch}, seen.begin);
        if (!added && place->second != seen.begin) {
            world_.violated(
                "INV-NO-DOUBLE",
                fmt::format(
                    "{}: batch {} is at {} and at {}",
                    partition.to_string(),
                    *seen.batch,
                    place->second,
                    seen.begin
                )
            );
        }
    }
}

Offset Ledger::floor(std::uint64_t life, const Partition& partition) const {
    const auto found = floors_.find({life, partition});
    return found == floors_.end() ? Offset(0) : found->second;
}

void Ledger::raise_floor(std::uint64_t life, const Partition& partition, Offset watermark) {
    Offset& floor = floors_[{life, partition}];
    floor = std::max(floor, watermark);
}

void Ledger::check_watermark(
    std::uint64_t life, const Partition& partition, Offset floor, Offset watermark
) {
    if (watermark < floor) {
        world_.violated(
            "INV-ACK-DURABLE",
            fmt::format(
                "{}: life {} says the log ends at {}, and said {} before",
                partition.to_string(),
                life,
                watermark,
                floor
            )
        );
    }
    raise_floor(life, partition, watermark);
}

void Ledger::check_start(
    std::uint64_t life, const Partition& partition, Offset floor, Offset start
) {
    if (start < floor || start > trim_asked(partition)) {
        world_.violated(
            "INV-START",
            fmt::format(
                "{}: life {} says the log starts at {}, said {} before, and {} was asked for",
                partition.to_string(),
                life,
                start,
                floor,
                trim_asked(partition)
            )
        );
    }
    Offset& known = start_floors_[{life, partition}];
    known = std::max(known, start);
}

}  // namespace lakestream::sim
