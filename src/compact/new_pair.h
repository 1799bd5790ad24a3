// SPDX-License-Identifier: Apache-2.0
// NewPair: a compacted pair on local disk that is about to replace index records.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lakestream/types.h"
#include "table/files.h"

namespace lakestream::compact {

/// What ascending entries lack of a range.
class Gaps {
  public:
    /// `begin` is the range's.
    explicit Gaps(Offset begin) : at_(begin) {}

    void add(OffsetRange entry) {
        reach(entry.begin);
        at_ = entry.end;
    }
    /// All of them, merged; `end` is the range's.
    std::vector<OffsetRange> finish(Offset end) {
        reach(end);
        return std::move(gaps_);
    }

  private:
    void reach(Offset begin) {
        if (begin > at_) {
            gaps_.push_back({at_, begin});
        }
    }

    Offset at_;
    std::vector<OffsetRange> gaps_;
};

struct NewPair {
    table::CompactedPair files;
    std::optional<std::int64_t> max_timestamp;  // as the Intent's
    std::vector<OffsetRange> gaps;              // what of its range it lacks
};

}  // namespace lakestream::compact
