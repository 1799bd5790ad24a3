// SPDX-License-Identifier: Apache-2.0
// MemoryCompacted: compacted entries in memory, by the location that an index record names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "log/compacted_source.h"

namespace lakestream::log {

class MemoryCompacted final : public CompactedSource {
  public:
    rt::Task<Result<std::vector<CompactedPart>>>
    read(LogId, index::IndexRecord record, OffsetRange, Offset from, std::uint64_t, rt::TaskScope&)
        override {
        const auto file = files.find(record.location);
        if (file == files.end()) {
            co_return not_found("{}", record.location);
        }
        std::vector<CompactedPart> parts;
        for (const CompactedPart& part : file->second) {
            if (part.range.end > from) {
                parts.push_back(part);
            }
        }
        co_return parts;
    }

    std::map<std::string, std::vector<CompactedPart>> files;
};

}  // namespace lakestream::log
