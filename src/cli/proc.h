// SPDX-License-Identifier: Apache-2.0
// What the system knows about a process: CPU time and memory.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace lakestream::cli {

struct ProcessUsage {
    double cpu_seconds = 0;        // user and system, all threads, since it began
    std::uint64_t rss_bytes = 0;   // resident now
    std::uint64_t peak_bytes = 0;  // resident at most, since it began
};

/// Errors: `not_found`, naming the pid.
Result<ProcessUsage> process_usage(int pid);

}  // namespace lakestream::cli
