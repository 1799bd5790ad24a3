// SPDX-License-Identifier: Apache-2.0
// Spill: entries read from WAL objects once, kept on local disk until every consumer has had them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"

namespace lakestream::compact {

/// Where segments are kept. Blocking: called on an offloaded thread.
class SpillFiles {
  public:
    virtual ~SpillFiles() = default;
    /// Write a new segment. Errors: `exhausted` (disk full).
    virtual Status append(std::uint64_t segment, const Bytes& bytes) = 0;
    virtual Result<Bytes> read(std::uint64_t segment, std::uint64_t begin, std::uint64_t count) = 0;
    virtual void remove(std::uint64_t segment) = 0;
};

/// In a folder that is emptied first: what a crash left is read from the WAL again.
Result<std::unique_ptr<SpillFiles>> open_spill_folder(std::string path);

/// One valid entry of a log.
struct SpilledEntry {
    OffsetRange range;
    std::int64_t cumulative = 0;  // payload bytes of the log up to and including it
    WallTime created;             // of its index record
    Bytes payload;
};

/// The valid entries of one index record.
struct Chunk {
    OffsetRange range;               // of the index record, voids included
    std::int64_t payload_bytes = 0;  // valid ones
    std::int64_t entries = 0;
    WallTime created;
    std::uint64_t segment = 0;
    std::uint64_t begin = 0;  // in the segment
    std::uint64_t bytes = 0;
    std::uint32_t crc32c = 0;  // of those bytes
};

/// One at a time, blocking. Memory: about 100 bytes for each index record; payload is on disk.
class Spill {
  public:
    explicit Spill(SpillFiles& files, std::uint64_t segment_bytes)
        : files_(files), segment_bytes_(segment_bytes) {}

    /// Keep the valid entries of one index record of `range`. Records of one log may come in any
    /// order, but do not overlap; nothing happens for one that is kept already. After an error
    /// nothing is kept of it; part of it may be on disk, where nothing else goes.
    Status add(LogId log, OffsetRange range, const std::vector<SpilledEntry>& entries);
    /// Chunks from the one that begins at `from` on, without a gap.
    std::vector<Chunk> chunks(LogId log, Offset from) const;
    /// The offset up to which chunks follow `from` without a gap.
    Offset end_of(LogId log, Offset from) const;
    /// The chunk that begins at `from`; null: there is none.
    const Chunk* find(LogId log, Offset from) const;
    /// Errors: `corrupt` (the disk has not what was written), or what reading gave.
    Result<std::vector<SpilledEntry>> load(const Chunk& chunk) const;
    /// Nobody needs what ends at or before `offset`.
    void drop_before(LogId log, Offset offset);
    /// Forget what begins at `offset` or later.
    void drop_from(LogId log, Offset offset);
    /// Bytes on disk.
    std::uint64_t bytes() const noexcept { return bytes_; }
    /// Payload in all chunks, and offsets of their records.
    std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }
    std::uint64_t records() const noexcept { return records_; }

  private:
    struct Segment {
        std::uint64_t bytes = 0;
        std::uint64_t live = 0;  // bytes of chunks still needed
    };

    void release(const Chunk& chunk);
    /// Write to another segment from now on.
    void close_segment();
    void remove_if_free(std::uint64_t segment);

    SpillFiles& files_;
    const std::uint64_t segment_bytes_;
    std::uint64_t current_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t payload_bytes_ = 0;
    std::uint64_t records_ = 0;
    std::map<std::uint64_t, Segment> segments_;
    std::map<LogId, std::map<Offset, Chunk>> logs_;  // by begin
};

}  // namespace lakestream::compact
