// SPDX-License-Identifier: Apache-2.0
// Index values: decoding never crashes, and what is decoded is encoded to bytes that mean the same.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "index/record.h"

using namespace lakestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes stored = Bytes::copy(std::as_bytes(std::span(data, size)));
    const auto record = index::IndexRecord::decode(stored);
    if (record.ok()) {
        const Offset end(record->message_count);
        const auto first = record->find_entry(end, Offset(0));
        LKS_ASSERT(!first.ok() || first->range.contains(Offset(0)));
        // Entry offsets are written only when there are several entries.
        if (record->entry_count > 1 ? !record->entry_offsets.empty()
                                    : record->entry_offsets.empty()) {
            const Bytes canonical = record->encode();
            const auto again = index::IndexRecord::decode(canonical);
            LKS_ASSERT(again.ok() && *again == *record);
            LKS_ASSERT(again->encode() == canonical);
        }
    }
    for (const auto version : {index::TextVersion::v1, index::TextVersion::v2}) {
        const auto text = index::IndexRecord::decode_text(stored, version);
        LKS_ASSERT(text.ok() || text.code() == ErrorCode::corrupt);
    }
    return 0;
}
