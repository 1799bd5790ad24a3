// SPDX-License-Identifier: Apache-2.0
// The stored form of the fold's state.
//
//   snapshot  = version:uint8 (2)  rules:uint32  end:int64  max_created:int64
//               writers:uvarint  writer*  producers:uvarint  producer*
//               voids_from:int64  voids:uvarint  void*
//   writer    = id:int64  last:uvarint64  date:int64
//               numbers:uvarint  (number:uvarint64 start:int64)*
//   producer  = id:int64  epoch:int16  seen:int64  last_entry:int64
//               batches:uvarint  (first:int32 last:int32 offset:int64)*
//   void      = gap:uvarint64 (behind the one before, or voids_from)  length:uvarint64
//
// Version 1, which is still read, has no voids_from (0), and of a void begin:int64 end:int64.
#include "codec/reader.h"
#include "codec/writer.h"
#include "log/fold.h"

namespace lakestream::log {

namespace {

constexpr std::uint8_t snapshot_version = 2;
constexpr std::uint8_t version_with_all_voids = 1;

void encode_writer(codec::Writer& out, std::uint64_t id, const FoldState::Writer& writer) {
    out.int64(static_cast<std::int64_t>(id));
    out.uvarint64(writer.last);
    out.int64(to_ms(writer.date));
    out.uvarint(static_cast<std::uint32_t>(writer.recent.size()));
    for (const FoldState::Number& number : writer.recent) {
        out.uvarint64(number.number);
        out.int64(number.start.v);
    }
}

void encode_producer(codec::Writer& out, std::int64_t id, const FoldState::Producer& producer) {
    out.int64(id);
    out.int16(producer.epoch);
    out.int64(to_ms(producer.seen));
    out.int64(producer.last_entry.v);
    out.uvarint(static_cast<std::uint32_t>(producer.batches.size()));
    for (const FoldState::Batch& batch : producer.batches) {
        out.int32(batch.first_sequence);
        out.int32(batch.last_sequence);
        out.int64(batch.offset.v);
    }
}

void decode_writers(codec::Reader& in, FoldState& state) {
    for (std::uint32_t i = in.uvarint(); i > 0 && in.ok(); --i) {
        const auto id = static_cast<std::uint64_t>(in.int64());
        const auto [at, is_new] = state.writers.try_emplace(id);
        if (!is_new) {
            in.fail();
        }
        FoldState::Writer& writer = at->second;
        writer.last = in.uvarint64();
        writer.date = wall_from_ms(in.int64());
        for (std::uint32_t n = in.uvarint(); n > 0 && in.ok(); --n) {
            const std::uint64_t number = in.uvarint64();
            writer.recent.push_back({number, Offset(in.int64())});
        }
    }
}

void decode_producers(codec::Reader& in, FoldState& state) {
    for (std::uint32_t i = in.uvarint(); i > 0 && in.ok(); --i) {
        const std::int64_t id = in.int64();
        const auto [at, is_new] = state.producers.try_emplace(id);
        FoldState::Producer& producer = at->second;
        producer.epoch = in.int16();
        producer.seen = wall_from_ms(in.int64());
        producer.last_entry = Offset(in.int64());
        const bool alone = state.recency.emplace(producer.last_entry, id).second;
        const std::uint32_t batches = in.uvarint();
        if (!is_new || !alone || batches == 0) {
            in.fail();  // a producer is there once, known by its batches; an entry has one
        }
        for (std::uint32_t n = batches; n > 0 && in.ok(); --n) {
            const std::int32_t first = in.int32();
            const std::int32_t last = in.int32();
            producer.batches.push_back({first, last, Offset(in.int64())});
        }
    }
}

void decode_voids(codec::Reader& in, FoldState& state) {
    state.voids_from = Offset(in.int64());
    if (state.voids_from < Offset(0) || state.voids_from > state.end) {
        in.fail();
    }
    Offset at = state.voids_from;
    for (std::uint32_t i = in.uvarint(); i > 0 && in.ok(); --i) {
        const std::uint64_t gap = in.uvarint64();
        const std::uint64_t length = in.uvarint64();
        const auto left = static_cast<std::uint64_t>(state.end - at);
        if (length == 0 || gap > left || length > left - gap) {
            in.fail();
            return;
        }
        const Offset begin = at + static_cast<std::int64_t>(gap);
        at = begin + static_cast<std::int64_t>(length);
        state.voids.push_back({begin, at});
    }
}

void decode_all_voids(codec::Reader& in, FoldState& state) {
    for (std::uint32_t i = in.uvarint(); i > 0 && in.ok(); --i) {
        const Offset begin(in.int64());
        const Offset end(in.int64());
        const Offset after = state.voids.empty() ? Offset(0) : state.voids.back().end;
        if (begin < after || end <= begin || end > state.end) {
            in.fail();
            return;
        }
        state.voids.push_back({begin, end});
    }
}

}  // namespace

Bytes encode_fold(const FoldState& state) {
    codec::Writer out;
    out.uint8(snapshot_version);
    out.uint32(fold_rule_version);
    out.int64(state.end.v);
    out.int64(to_ms(state.max_created));
    out.uvarint(static_cast<std::uint32_t>(state.writers.size()));
    for (const auto& [id, writer] : state.writers) {
        encode_writer(out, id, writer);
    }
    out.uvarint(static_cast<std::uint32_t>(state.producers.size()));
    for (const auto& [id, producer] : state.producers) {
        encode_producer(out, id, producer);
    }
    out.int64(state.voids_from.v);
    out.uvarint(static_cast<std::uint32_t>(state.voids.size()));
    Offset at = state.voids_from;
    for (const OffsetRange& range : state.voids) {
        out.uvarint64(static_cast<std::uint64_t>(range.begin - at));
        out.uvarint64(static_cast<std::uint64_t>(range.count()));
        at = range.end;
    }
    return out.finish().join();
}

Result<FoldState> decode_fold(const Bytes& stored) {
    codec::Reader in(stored.span());
    const std::uint8_t version = in.uint8();
    const std::uint32_t rules = in.uint32();
    const bool known = version == snapshot_version || version == version_with_all_voids;
    if (in.ok() && (!known || rules > fold_rule_version)) {
        return unsupported(
            "fold snapshot of version {} and rules {}: this program knows version {} and rules {}; "
            "use a newer one",
            version,
            rules,
            snapshot_version,
            fold_rule_version
        );
    }
    FoldState state;
    state.end = Offset(in.int64());
    if (state.end < Offset(0)) {
        in.fail();
    }
    state.max_created = wall_from_ms(in.int64());
    decode_writers(in, state);
    decode_producers(in, state);
    if (version == version_with_all_voids) {
        decode_all_voids(in, state);
    } else {
        decode_voids(in, state);
    }
    if (in.remaining() > 0) {
        in.fail();
    }
    LKS_TRY(in.status("fold snapshot"));
    return state;
}

}  // namespace lakestream::log
