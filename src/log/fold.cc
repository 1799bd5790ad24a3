// SPDX-License-Identifier: Apache-2.0
// The rules V0, V1 and V2 of the fold (docs/protocols/append.md).
#include "log/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/assert.h"
#include "codec/record_batch.h"

namespace lakestream::log {

namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text, int base) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

/// The text up to the next '/', removed from `rest`.
std::string_view take_part(std::string_view& rest) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    return part;
}

void add_void(FoldState& state, OffsetRange range) {
    if (!state.voids.empty() && state.voids.back().end == range.begin) {
        state.voids.back().end = range.end;
    } else {
        state.voids.push_back(range);
    }
}

void forget_writers(FoldState& state) {
    std::erase_if(state.writers, [&](const auto& item) {
        return state.max_created > item.second.date + publish_window;
    });
}

void forget_producers(FoldState& state) {
    while (state.producers.size() > producers_kept_min) {
        const auto oldest = state.producers.find(state.recency.begin()->second);
        if (state.producers.size() <= producers_kept_max &&
            state.max_created <= oldest->second.seen + producer_idle_max) {
            return;
        }
        state.recency.erase(state.recency.begin());
        state.producers.erase(oldest);
    }
}

/// V0 and V1: the verdict on the record as a whole. `state.max_created` is M of this record.
Verdict judge_record(FoldState& state, const FoldRecord& record) {
    if (!record.writer.has_value()) {
        return Verdict::valid;
    }
    const WriterStamp& stamp = *record.writer;
    const WallTime date = record.object_date.value_or(WallTime());
    if (state.max_created > date + publish_window) {
        return Verdict::published_late;
    }
    const auto known = state.writers.find(stamp.writer);
    if (known == state.writers.end()) {
        if (stamp.number != 0 || state.max_created > stamp.birth + publish_window) {
            return Verdict::out_of_order_write;
        }
    } else if (stamp.number != known->second.last + 1) {
        return stamp.number <= known->second.last ? Verdict::resent : Verdict::out_of_order_write;
    }
    FoldState::Writer& writer = state.writers[stamp.writer];
    writer.last = stamp.number;
    writer.date = std::max(writer.date, date);
    writer.recent.push_back({stamp.number, record.range.begin});
    if (writer.recent.size() > numbers_kept) {
        writer.recent.pop_front();
    }
    return Verdict::valid;
}

/// V2: Kafka's rules for idempotent producers.
EntryVerdict judge_entry(FoldState& state, const FoldEntry& entry, Offset offset) {
    if (!entry.producer.has_value()) {
        return {Verdict::valid, offset};
    }
    const ProducerStamp& stamp = *entry.producer;
    const auto known = state.producers.find(stamp.id);
    if (known == state.producers.end()) {
        if (stamp.base_sequence != 0) {
            return {Verdict::unknown_producer, offset};
        }
    } else if (stamp.epoch < known->second.epoch) {
        return {Verdict::old_epoch, offset};
    } else if (stamp.epoch > known->second.epoch) {
        if (stamp.base_sequence != 0) {
            return {Verdict::out_of_order_sequence, offset};
        }
    } else if (const auto* original = state.find_duplicate(stamp, entry.records)) {
        return {Verdict::duplicate, original->offset};
    } else if (stamp.base_sequence !=
               codec::sequence_after(known->second.batches.back().last_sequence, 1)) {
        return {Verdict::out_of_order_sequence, offset};
    }
    FoldState::Producer& producer = state.producers[stamp.id];
    if (!producer.batches.empty()) {
        state.recency.erase(producer.last_entry);
    }
    state.recency.emplace(offset, stamp.id);
    if (producer.epoch != stamp.epoch) {
        producer.batches.clear();
        producer.epoch = stamp.epoch;
    }
    producer.seen = state.max_created;
    producer.last_entry = offset;
    if (producer.batches.size() == batches_kept) {
        producer.batches.erase(producer.batches.begin());
    }
    producer.batches.push_back(
        {stamp.base_sequence, codec::sequence_after(stamp.base_sequence, entry.records - 1), offset}
    );
    return {Verdict::valid, offset};
}

}  // namespace

std::string WriterStamp::to_identity() const {
    return fmt::format("lks/{:x}/{}/{}", writer, to_ms(birth), number);
}

std::optional<WriterStamp> WriterStamp::parse(std::string_view identity) {
    if (take_part(identity) != "lks") {
        return std::nullopt;
    }
    const auto writer = parse_number<std::uint64_t>(take_part(identity), 16);
    const auto birth = parse_number<std::int64_t>(take_part(identity), 10);
    const auto number = parse_number<std::uint64_t>(take_part(identity), 10);
    if (!writer || !birth || !number || !identity.empty()) {
        return std::nullopt;
    }
    return WriterStamp{.writer = *writer, .birth = wall_from_ms(*birth), .number = *number};
}

const FoldState::Batch* FoldState::find_duplicate(const ProducerStamp& stamp, std::int32_t records)
    const {
    const auto known = producers.find(stamp.id);
    if (known == producers.end() || known->second.epoch != stamp.epoch) {
        return nullptr;
    }
    const std::int32_t last = codec::sequence_after(stamp.base_sequence, records - 1);
    for (const Batch& batch : known->second.batches) {
        if (batch.first_sequence == stamp.base_sequence && batch.last_sequence == last) {
            return &batch;
        }
    }
    return nullptr;
}

std::optional<Offset> FoldState::landed(const WriterStamp& stamp) const {
    const auto known = writers.find(stamp.writer);
    if (known == writers.end()) {
        return std::nullopt;
    }
    for (const Number& number : known->second.recent) {
        if (number.number == stamp.number) {
            return number.start;
        }
    }
    return std::nullopt;
}

OffsetRange FoldState::void_at(Offset offset) const {
    const auto after = std::ranges::upper_bound(voids, offset, {}, &OffsetRange::begin);
    if (after == voids.begin() || !std::prev(after)->contains(offset)) {
        return {offset, offset};
    }
    return {offset, std::prev(after)->end};
}

std::vector<OffsetRange> FoldState::voids_in(OffsetRange range) const {
    std::vector<OffsetRange> parts;
    auto at = std::ranges::upper_bound(voids, range.begin, {}, &OffsetRange::end);
    for (; at != voids.end() && at->begin < range.end; ++at) {
        parts.push_back({std::max(at->begin, range.begin), std::min(at->end, range.end)});
    }
    return parts;
}

void FoldState::forget_voids(Offset offset) {
    if (offset <= voids_from) {
        return;
    }
    voids_from = offset;
    const auto kept = std::ranges::upper_bound(voids, offset, {}, &OffsetRange::end);
    voids.erase(voids.begin(), kept);
    if (!voids.empty()) {
        voids.front().begin = std::max(voids.front().begin, offset);
    }
    if (voids.empty()) {
        voids.shrink_to_fit();
    }
}

std::vector<EntryVerdict> fold(FoldState& state, const FoldRecord& record) {
    LKS_ASSERT(record.range.begin == state.end);
    state.max_created = std::max(state.max_created, record.created);
    forget_writers(state);
    const Verdict whole = judge_record(state, record);

    std::vector<EntryVerdict> verdicts;
    verdicts.reserve(record.entries.size());
    Offset offset = record.range.begin;
    for (const FoldEntry& entry : record.entries) {
        const Offset next = offset + entry.records;
        const EntryVerdict verdict = whole == Verdict::valid ? judge_entry(state, entry, offset)
                                                             : EntryVerdict{whole, offset};
        if (verdict.verdict != Verdict::valid) {
            add_void(state, {offset, next});
        }
        verdicts.push_back(verdict);
        offset = next;
    }
    LKS_ASSERT(offset == record.range.end);
    state.end = record.range.end;
    forget_producers(state);
    return verdicts;
}

}  // namespace lakestream::log
