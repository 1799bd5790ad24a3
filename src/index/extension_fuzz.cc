// SPDX-License-Identifier: Apache-2.0
// The extension field: the first byte says how many entries the record has, the rest is the field.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "index/extension.h"

using namespace lakestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    index::IndexRecord record;
    for (std::uint32_t i = 0; i <= data[0]; ++i) {
        record.message_count += static_cast<std::int32_t>(1 + i % 3);
        record.entry_offsets.push_back(static_cast<std::uint32_t>(record.message_count));
    }
    record.entry_count = static_cast<std::int32_t>(record.entry_offsets.size());
    const auto extension =
        index::decode_extension(std::as_bytes(std::span(data, size)).subspan(1), record);
    if (extension.ok() && extension->has_value()) {
        const Bytes canonical = index::encode_extension(**extension, record);
        const auto again = index::decode_extension(canonical.span(), record);
        LKS_ASSERT(again.ok() && *again == *extension);
        LKS_ASSERT(index::encode_extension(**again, record) == canonical);
    }
    return 0;
}
