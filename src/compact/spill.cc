// SPDX-License-Identifier: Apache-2.0
// Chunks in segments; segments without a needed chunk go.
//
//   chunk = (begin:int64 records:int32 cumulative:int64 created:int64 length:uint32 payload)*
#include "compact/spill.h"

#include <utility>

#include "base/format.h"
#include "codec/reader.h"
#include "codec/writer.h"

namespace lakestream::compact {

Status Spill::add(LogId log, OffsetRange range, const std::vector<SpilledEntry>& entries) {
    if (const auto kept = logs_.find(log);
        kept != logs_.end() && kept->second.contains(range.begin)) {
        return {};  // its bytes would never be freed
    }
    Chunk chunk{.range = range, .segment = current_};
    codec::Writer out;
    for (const SpilledEntry& entry : entries) {
        out.int64(entry.range.begin.v);
        out.int32(static_cast<std::int32_t>(entry.range.count()));
        out.int64(entry.cumulative);
        out.int64(to_ms(entry.created));
        out.uint32(static_cast<std::uint32_t>(entry.payload.size()));
        out.raw(entry.payload.span());
        chunk.payload_bytes += static_cast<std::int64_t>(entry.payload.size());
        chunk.created = entry.created;
        ++chunk.entries;
    }
    const Bytes stored = out.finish().join();
    Segment& segment = segments_[current_];
    chunk.begin = segment.bytes;
    chunk.bytes = stored.size();
    if (!stored.empty()) {
        LKS_TRY(files_.append(current_, stored));
    }
    segment.bytes += chunk.bytes;
    segment.live += chunk.bytes;
    bytes_ += chunk.bytes;
    logs_[log].emplace(range.begin, chunk);
    if (segment.bytes >= segment_bytes_) {
        ++current_;
    }
    return {};
}

std::vector<Chunk> Spill::chunks(LogId log, Offset from) const {
    std::vector<Chunk> found;
    if (const auto chunks = logs_.find(log); chunks != logs_.end()) {
        for (auto at = chunks->second.find(from);
             at != chunks->second.end() && at->second.range.begin == from;
             ++at) {
            found.push_back(at->second);
            from = at->second.range.end;
        }
    }
    return found;
}

Offset Spill::end_of(LogId log, Offset from) const {
    const auto found = chunks(log, from);
    return found.empty() ? from : found.back().range.end;
}

Result<std::vector<SpilledEntry>> Spill::load(const Chunk& chunk) const {
    std::vector<SpilledEntry> entries;
    if (chunk.bytes == 0) {
        return entries;
    }
    codec::Reader in(LKS_TRY(files_.read(chunk.segment, chunk.begin, chunk.bytes)));
    while (in.remaining() > 0) {
        SpilledEntry entry;
        entry.range.begin = Offset(in.int64());
        entry.range.end = entry.range.begin + in.int32();
        entry.cumulative = in.int64();
        entry.created = wall_from_ms(in.int64());
        entry.payload = in.bytes(in.uint32());
        entries.push_back(std::move(entry));
    }
    LKS_TRY(in.status("spilled chunk"));
    return entries;
}

void Spill::release(const Chunk& chunk) {
    if (chunk.bytes == 0) {
        return;  // voids only: nothing of it is on disk
    }
    const auto segment = segments_.find(chunk.segment);
    segment->second.live -= chunk.bytes;
    if (segment->second.live == 0 && chunk.segment != current_) {
        bytes_ -= segment->second.bytes;
        files_.remove(chunk.segment);
        segments_.erase(segment);
    }
}

void Spill::drop_before(LogId log, Offset offset) {
    const auto chunks = logs_.find(log);
    if (chunks == logs_.end()) {
        return;
    }
    auto at = chunks->second.begin();
    while (at != chunks->second.end() && at->second.range.end <= offset) {
        release(at->second);
        at = chunks->second.erase(at);
    }
    if (chunks->second.empty()) {
        logs_.erase(chunks);
    }
}

void Spill::drop_from(LogId log, Offset offset) {
    const auto chunks = logs_.find(log);
    if (chunks == logs_.end()) {
        return;
    }
    auto at = chunks->second.lower_bound(offset);
    while (at != chunks->second.end()) {
        release(at->second);
        at = chunks->second.erase(at);
    }
    if (chunks->second.empty()) {
        logs_.erase(chunks);
    }
}

}  // namespace lakestream::compact
