// SPDX-License-Identifier: Apache-2.0
// The stored form of a compaction's state.
//
//   state  = version:uint8 (1)  cursor:int64  has_intent:bool  [intent]
//   intent = begin:int64  end:int64  payload:int64  entries:int64  location length:uvarint, bytes
#include "compact/intent.h"

#include "base/format.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::compact {

namespace {

constexpr std::uint8_t state_version = 1;

}  // namespace

std::string state_key(LogId log) {
    return fmt::format("/lks/compact/{}", log);
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
    }
    return out.finish().join();
}

Result<CompactState> decode_state(const Bytes& stored) {
    codec::Reader in(stored.span());
    const std::uint8_t version = in.uint8();
    if (in.ok() && version != state_version) {
        return unsupported("compaction state of version {}: use a newer program", version);
    }
    CompactState state;
    state.cursor = Offset(in.int64());
    if (in.boolean()) {
        Intent intent;
        intent.range.begin = Offset(in.int64());
        intent.range.end = Offset(in.int64());
        intent.payload_bytes = in.int64();
        intent.entries = in.int64();
        intent.location = std::string(in.view(in.uvarint()));
        if (intent.range.empty() || intent.range.begin != state.cursor) {
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
