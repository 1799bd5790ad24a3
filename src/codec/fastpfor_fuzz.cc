// SPDX-License-Identifier: Apache-2.0
// Any bytes are decoded, and any integers are packed and unpacked.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/assert.h"
#include "codec/fastpfor.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream::codec;
    constexpr std::size_t values_max = 1UL << 20;
    if (const auto decoded = fastpfor_decode(std::as_bytes(std::span(data, size)), values_max);
        decoded.ok()) {
        const auto again = fastpfor_decode(fastpfor_encode(*decoded), decoded->size());
        LKS_ASSERT(again.ok() && *again == *decoded);
    }
    std::vector<std::uint32_t> values(size / sizeof(std::uint32_t));
    if (!values.empty()) {
        std::memcpy(values.data(), data, values.size() * sizeof(std::uint32_t));
    }
    const auto back = fastpfor_decode(fastpfor_encode(values), values.size());
    LKS_ASSERT(back.ok() && *back == values);
    return 0;
}
