// SPDX-License-Identifier: Apache-2.0
// Any bytes decode or are refused; what decodes is written and read back equal. The first byte says
// whether gzip is around the rest.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/assert.h"
#include "table/compacted_index.h"

using lakestream::Bytes;
using lakestream::table::CompactedIndexWriter;
using lakestream::table::decode_compacted_index;
using lakestream::table::decode_compacted_index_content;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const Bytes input = Bytes::copy(std::as_bytes(std::span(data + 1, size - 1)));
    const auto rows =
        data[0] % 2 == 0 ? decode_compacted_index_content(input) : decode_compacted_index(input);
    if (!rows.ok() || rows->empty()) {
        return 0;
    }
    CompactedIndexWriter writer;
    std::string content;
    for (const auto& row : *rows) {
        writer.add(row);
        content += writer.take();
    }
    const auto again = decode_compacted_index_content(Bytes::own(content + writer.finish()));
    LKS_ASSERT(again.ok() && *again == *rows);
    return 0;
}
