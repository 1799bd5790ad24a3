// SPDX-License-Identifier: Apache-2.0
// SectionData: the entries of one index record, cut out of a WAL object and verified.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "index/record.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"
#include "wal/object_format.h"

namespace lakestream::log {

/// The entries of one index record, in order.
struct SectionData {
    struct Entry {
        std::int32_t records = 0;
        Bytes payload;
    };

    std::vector<Entry> entries;
    std::uint64_t bytes = 0;
};

using SectionDataPtr = std::shared_ptr<const SectionData>;  // shared by the cache and its readers

/// Where a section lies.
struct SectionPlace {
    const wal::Section* section = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;  // in the payload region
    std::uint64_t end = 0;
};

/// Find a record's section in its object. Errors: `corrupt` (missing, other counts, beyond the
/// end); the message names the object.
Result<SectionPlace> find_section(
    LogId log, const index::IndexRecord& record, const wal::ObjectHeader& header
);

/// Cut the entries out of `body`, the payload region's bytes from place.begin to place.end at
/// least, and verify them. Errors: `corrupt`, naming the object.
Result<SectionData> cut_section(
    LogId log, const index::IndexRecord& record, const SectionPlace& place, const Bytes& body
);

}  // namespace lakestream::log
