// SPDX-License-Identifier: Apache-2.0
// The stored form of a compaction's state.
//
//   state  = version:uint8 (3)  cursor:int64  has_intent:bool  [intent]
//   intent = begin:int64  end:int64  payload:int64  entries:int64  location length:uvarint, bytes
//            has_max_timestamp:bool  [max_timestamp:int64]  voids:uint32
//
// Versions 1 and 2, which are still read, end with the location and with the timestamp.
#include "compact/intent.h"

#include "catalog/keys.h"
#include "codec/crc32c.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::compact {

namespace {

constexpr std::uint8_t state_version = 3;
constexpr std::uint8_t version_with_timestamps = 2;

Intent read_intent(codec::Reader& in, std::uint8_t version) {
    Intent intent;
    intent.range.begin = Offset(in.int64());
    intent.range.end = Offset(in.int64());
    intent.payload_bytes = in.int64();
    intent.entries = in.int64();
    intent.location = std::string(in.view(in.uvarint()));
    if (version >= version_with_timestamps && in.boolean()) {
        intent.max_timestamp = in.int64();
    }
    if (version == state_version) {
        intent.voids = in.uint32();
    }
    return intent;
}

}  // namespace

std::uint32_t voids_checksum(OffsetRange range, std::span<const OffsetRange> voids) {
    codec::Writer out;
    out.int64(range.begin.v);
    out.int64(range.end.v);
    for (const OffsetRange& gap : voids) {
        out.int64(gap.begin.v);
        out.int64(gap.end.v);
    }
    return codec::crc32c(out.finish().join().span());
}

std::string state_key(LogId log) {
    return catalog::keys::compact_state(log);
}

Bytes encode_state(const CompactState& state) {
    codec::Writer out;
    out.uint8(state_version);
    out.int64(state.cursor.v);
    out.boolean(state.intent.has_value());
    if (state.intent.has_value()) {
        const Intent& intent = *state.intent;
        out.int64(intent.range.begin.v);
        out.int64(intent.range.end.v);
        out.int64(intent.payload_bytes);
        out.int64(intent.entries);
        out.uvarint(static_cast<std::uint32_t>(intent.location.size()));
        out.raw(intent.location);
        out.boolean(intent.max_timestamp.has_value());
        if (intent.max_timestamp.has_value()) {
            out.int64(*intent.max_timestamp);
        }
        out.uint32(intent.voids);
    }
    return out.finish().join();
}

Result<CompactState> decode_state(const Bytes& stored) {
    codec::Reader in(stored.span());
    const std::uint8_t version = in.uint8();
    if (in.ok() && (version == 0 || version > state_version)) {
        return unsupported("compaction state of version {}: use a newer program", version);
    }
    CompactState state;
    state.cursor = Offset(in.int64());
    if (in.boolean()) {
        Intent intent = read_intent(in, version);
        const bool merges = version == state_version && intent.range.end <= state.cursor;
        if (intent.range.empty() || (intent.range.begin != state.cursor && !merges)) {
            in.fail();
        }
        state.intent = std::move(intent);
    }
    if (in.remaining() > 0) {
        in.fail();
    }
    LKS_TRY(in.status("compaction state"));
    return state;
}

}  // namespace lakestream::compact
