// SPDX-License-Identifier: Apache-2.0
// Values of the stream offset index (docs/formats/index-record.md): protobuf, written and read by
// hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"

namespace lakestream::index {

enum class FileType : std::uint8_t { raw = 0, parquet = 1 };

enum class IndexType : std::uint8_t {
    normal = 0,   // the object holds other logs too
    compact = 1,  // this log only
};

/// Version 2 adds the file type.
enum class TextVersion : std::uint8_t { v1, v2 };

/// Who wrote an entry, when it is an idempotent producer.
struct ProducerEntry {
    std::uint32_t entry = 0;  // place among the record's entries
    std::int64_t producer_id = 0;
    std::int16_t epoch = 0;
    std::int32_t base_sequence = 0;  // -1 of a control entry
    bool is_transactional = false;
    bool is_control = false;  // a transaction's end

    friend bool operator==(const ProducerEntry&, const ProducerEntry&) = default;
};

/// Our field 100, which other engines skip: what taking a log over needs without reading objects.
struct Extension {
    /// Of the section's payloads, in order; of a compacted file: of its range and voids, or 0.
    std::uint32_t crc32c = 0;
    std::int64_t max_timestamp = -1;       // the newest record of the range, ms; -1: none
    std::vector<ProducerEntry> producers;  // ascending by entry; only idempotent ones

    friend bool operator==(const Extension&, const Extension&) = default;
};

/// One entry of a record.
struct EntrySpan {
    std::size_t entry = 0;  // place among the record's entries
    OffsetRange range;

    friend bool operator==(const EntrySpan&, const EntrySpan&) = default;
};

/// One record: which object holds the `message_count` records before the key's end offset.
struct IndexRecord {
    std::string location;  // of a compacted object: relative to its log's folder
    FileType file_type = FileType::raw;
    IndexType index_type = IndexType::normal;
    std::int32_t message_count = 0;
    std::int64_t entry_size_bytes = 0;  // payload of this log
    std::int64_t file_size = 0;         // payload of all logs in the object
    std::int64_t offset_in_file = -1;
    std::int32_t entry_count = 0;
    /// Records in entries 0..i, for each i; absent with a single entry.
    std::vector<std::uint32_t> entry_offsets;
    std::vector<std::pair<std::string, std::string>> extra;  // keys are distinct
    std::optional<Extension> extension;

    /// The stored form, version 3.
    Bytes encode() const;
    /// Errors: `corrupt` (a field that other readers need is missing, or damage).
    static Result<IndexRecord> decode(const Bytes& value);
    /// The older text forms: one record for each entry, its place in the object as offset_in_file.
    static Result<IndexRecord> decode_text(const Bytes& value, TextVersion version);

    /// Records of each entry, at least one. Errors: `corrupt` (several entries without
    /// entry_offsets, or counts that do not rise to message_count).
    Result<std::vector<std::int32_t>> entry_records() const;
    /// The entry that holds `offset`, when the record's key says `end`. Cost: O(log entries).
    /// Errors: `out_of_range` (outside the record), `corrupt` (as entry_records()).
    Result<EntrySpan> find_entry(Offset end, Offset offset) const;

    friend bool operator==(const IndexRecord&, const IndexRecord&) = default;
};

}  // namespace lakestream::index
