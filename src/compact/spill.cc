// SPDX-License-Identifier: Apache-2.0
// Chunks in segments; segments without a needed chunk go.
//
//   chunk = (begin:int64 records:int32 cumulative:int64 created:int64 length:uint32 payload)*
#include "compact/spill.h"

#include <utility>

#include "base/format.h"
#include "codec/crc32c.h"
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
    chunk.crc32c = codec::crc32c(stored.span());
    if (!stored.empty()) {
        const Status appended = files_.append(current_, stored);
        if (!appended.ok()) {
            close_segment();  // it may end with a part of the chunk: its length is not known
            return appended;
        }
    }
    segment.bytes += chunk.bytes;
    segment.live += chunk.bytes;
    bytes_ += chunk.bytes;
    payload_bytes_ += static_cast<std::uint64_t>(chunk.payload_bytes);
    records_ += static_cast<std::uint64_t>(chunk.range.count());
    logs_[log].emplace(range.begin, chunk);
    if (segment.bytes >= segment_bytes_) {
        close_segment();
    }
    return {};
}

void Spill::close_segment() {
    remove_if_free(current_++);
}

void Spill::remove_if_free(std::uint64_t segment) {
    const auto found = segments_.find(segment);
    if (found != segments_.end() && found->second.live == 0) {
        bytes_ -= found->second.bytes;
        files_.remove(segment);
        segments_.erase(found);
    }
}

const Chunk* Spill::find(LogId log, Offset from) const {
    const auto chunks = logs_.find(log);
    if (chunks == logs_.end()) {
        return nullptr;
    }
    const auto found = chunks->second.find(from);
    return found == chunks->second.end() ? nullptr : &found->second;
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
    const Bytes stored = LKS_TRY(files_.read(chunk.segment, chunk.begin, chunk.bytes));
    if (codec::crc32c(stored.span()) != chunk.crc32c) {
        return corrupt(
            "spill segment {}: the bytes from {} on are not what was written; is the scratch disk "
            "damaged?",
            chunk.segment,
            chunk.begin
        );
    }
    codec::Reader in(stored);
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
    payload_bytes_ -= static_cast<std::uint64_t>(chunk.payload_bytes);
    records_ -= static_cast<std::uint64_t>(chunk.range.count());
    if (chunk.bytes == 0) {
        return;  // voids only: nothing of it is on disk
    }
    Segment& segment = segments_.at(chunk.segment);
    segment.live -= chunk.bytes;
    if (segment.live > 0) {
        return;
    }
    if (chunk.segment == current_) {
        close_segment();  // a small disk gets its room back at once
    } else {
        remove_if_free(chunk.segment);
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
