// SPDX-License-Identifier: Apache-2.0
// Any end of a file has a footer of a length that fits the file, or is refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "table/parquet_footer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream;  // NOLINT
    const Bytes tail = Bytes::copy({reinterpret_cast<const char*>(data), size});
    for (const std::uint64_t before : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
        const auto needed = table::parquet_footer_bytes(tail, size + before);
        LKS_ASSERT(!needed.ok() || (*needed > 0 && *needed <= size + before));
    }
    return 0;
}
