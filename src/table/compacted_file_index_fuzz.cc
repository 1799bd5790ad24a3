// SPDX-License-Identifier: Apache-2.0
// Any text decodes or is refused; what decodes is written and read back equal.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "table/compacted_file_index.h"

using lakestream::table::CompactedFileIndex;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto index = CompactedFileIndex::decode({reinterpret_cast<const char*>(data), size});
    if (index.ok()) {
        const auto again = CompactedFileIndex::decode(index->encode());
        LKS_ASSERT(again.ok() && *again == *index);
    }
    return 0;
}
