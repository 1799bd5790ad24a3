// SPDX-License-Identifier: Apache-2.0
// LineInput: stdin as chunks of whole lines.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "base/result.h"

namespace lakestream::cli {

/// Reads on any one thread at a time; `stop` from any.
class LineInput {
  public:
    /// Whole lines, as many as have arrived, up to `chunk_bytes` or one line that is longer. What
    /// comes within 2 ms counts as arrived. Empty at the end of stdin, and after `stop`. The last
    /// line may lack its end. Blocks. Errors: `unavailable`.
    Result<std::string> next();

    /// Let `next` end within 100 ms.
    void stop() { stopped_ = true; }

    static constexpr std::size_t chunk_bytes = 1 << 20;

  private:
    /// Whether there is something to read within this time.
    static bool wait_readable(int timeout_ms);
    /// Appends what one read gives, or notes the end.
    Status read_some();

    std::string pending_;  // behind the last line's end that was given out
    std::atomic<bool> stopped_ = false;
    bool ended_ = false;
};

}  // namespace lakestream::cli
