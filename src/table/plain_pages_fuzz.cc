// SPDX-License-Identifier: Apache-2.0
// Any bytes have values inside them, or are refused; values put into pages are found there again.
// The first byte says how many rows, how pages are made, and how long values are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/assert.h"
#include "table/plain_pages.h"
#include "table/testing/plain_chunk.h"

using lakestream::table::find_plain_values;
using lakestream::table::PlainChunk;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const auto input = std::as_bytes(std::span(data + 1, size - 1));
    const auto found = find_plain_values(input, data[0]);
    if (found.ok()) {
        LKS_ASSERT(found->size() == data[0]);
        for (const auto value : *found) {
            LKS_ASSERT(value.data() >= input.data());
            LKS_ASSERT(value.data() + value.size() <= input.data() + input.size());
        }
    }
    std::vector<std::string> values;
    for (std::size_t at = 0; at < input.size(); at += 1 + data[0] / 8) {
        const auto part = input.subspan(at, std::min<std::size_t>(input.size() - at, data[0] / 8));
        values.emplace_back(reinterpret_cast<const char*>(part.data()), part.size());
    }
    PlainChunk chunk{
        .checksums = (data[0] & 1) != 0,
        .statistics = (data[0] & 2) != 0,
        .levels = (data[0] & 4) != 0 ? PlainChunk::Levels::bits : PlainChunk::Levels::run,
        .bytes = {},
    };
    const std::span<const std::string> all(values);
    chunk.add(all.first(all.size() / 3));
    chunk.add(all.subspan(all.size() / 3));
    const auto again = find_plain_values(std::as_bytes(std::span(chunk.bytes)), values.size());
    LKS_ASSERT(again.ok());
    for (std::size_t i = 0; i < values.size(); ++i) {
        LKS_ASSERT(std::ranges::equal((*again)[i], std::as_bytes(std::span(values[i]))));
    }
    return 0;
}
