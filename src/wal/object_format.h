// SPDX-License-Identifier: Apache-2.0
// The WAL object: entries of many logs behind one index block (docs/formats/wal-object.md).
//
//   object        = L:int32  version:int32 (3)  section*  payload*        (big-endian)
//   section       = log:int64  n:uvarint  (offset:uvarint length:uvarint records:uvarint) * n
//   L             counts the version and the sections; offsets start at the payload region, 4 + L
//
// The older layout, read only: L:int64  (log:int64 entry:int64 offset:int64 length:int64)*
// payload*.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/slices.h"
#include "lakestream/types.h"

namespace lakestream::wal {

/// Where one entry lies.
struct EntryPlace {
    std::uint32_t offset = 0;  // bytes from the start of the payload region
    std::uint32_t length = 0;  // bytes
    std::int32_t records = 0;  // >= 1 in objects of ours; 0 in the older layout, which has none

    friend bool operator==(const EntryPlace&, const EntryPlace&) = default;
};

/// The entries of one log, in append order.
struct Section {
    LogId log;
    std::vector<EntryPlace> entries;
    /// Older layout only: each entry's number in the object, by which text index records name it.
    std::vector<std::int64_t> legacy_numbers;
};

/// Upper bound of an index block that a reader accepts.
inline constexpr std::uint64_t header_bytes_max = 256U << 20;
/// Upper bound of the payload region (32-bit offsets).
inline constexpr std::uint64_t payload_bytes_max = 0x7fff'ffff;

/// What `ObjectBuilder::finish` made.
struct BuiltObject {
    Slices body;                    // the object, payloads shared with the entries given
    std::vector<Section> sections;  // in the order they stand in the object
    std::uint64_t payload_bytes = 0;
};

/// Builds one object. Nothing is copied but the index block. The same entries in the same order
/// give the same bytes as the Java engine: sections stand in the order of its hash map (a table
/// that starts with 16 buckets, newest first inside a bucket), unless 8 logs share one of 64 or
/// more buckets. Cost: O(1) an entry, one sort of the logs at the end.
class ObjectBuilder {
  public:
    /// Append an entry. Precondition: records >= 1; all payloads together stay below
    /// payload_bytes_max.
    void add(LogId log, Bytes payload, std::int32_t records);
    std::uint64_t payload_bytes() const noexcept { return payload_.size(); }
    bool empty() const noexcept { return sections_.empty(); }
    BuiltObject finish();

  private:
    std::size_t bucket(LogId log) const;
    std::vector<std::size_t> section_order() const;

    std::vector<Section> sections_;  // in order of first appearance
    std::unordered_map<LogId, std::size_t> by_log_;
    Slices payload_;
    std::size_t buckets_ = 16;
};

/// Bytes from the object's start that `ObjectHeader::parse` needs, from at least the first 8.
/// Errors: `corrupt`.
Result<std::uint64_t> header_bytes_needed(std::span<const std::byte> begin);

/// The index block of an object. Readers take sections in any order; of two sections of one log the
/// last one counts; a version other than 3 is read like 3. Places are not checked against the
/// object's size: whoever fetches an entry does.
class ObjectHeader {
  public:
    /// Errors: `corrupt` (shorter than needed, or ending inside a section).
    static Result<ObjectHeader> parse(std::span<const std::byte> begin);

    /// Ascending by log.
    const std::vector<Section>& sections() const noexcept { return sections_; }
    /// The section of a log; null when the object holds none. Cost: O(log sections).
    const Section* find(LogId log) const noexcept;
    /// Where the payload region starts, bytes from the object's start.
    std::uint64_t payload_begin() const noexcept { return payload_begin_; }

  private:
    std::vector<Section> sections_;
    std::uint64_t payload_begin_ = 0;
};

}  // namespace lakestream::wal
