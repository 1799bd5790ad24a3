// SPDX-License-Identifier: Apache-2.0
// Where a failed assertion ends the process.
#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace lakestream {

void assertion_failed(const char* condition, std::source_location where) noexcept {
    // The process is about to end and may be out of memory: no logging, no allocation.
    std::fprintf(
        stderr,
        "assertion failed: %s at %s:%u in %s\n",
        condition,
        where.file_name(),
        static_cast<unsigned>(where.line()),
        where.function_name()
    );
    std::abort();
}

}  // namespace lakestream
