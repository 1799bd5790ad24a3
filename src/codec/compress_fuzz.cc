// SPDX-License-Identifier: Apache-2.0
// Byte 0 picks a codec. The rest is decompressed as it is, and round-trips when compressed.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "codec/compress.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream::codec;
    if (size == 0) {
        return 0;
    }
    constexpr std::size_t output_max = 1UL << 20;
    const Compression codec = *compression_from(data[0] % 5);
    const auto input = lakestream::Bytes::copy(std::as_bytes(std::span(data, size)).subspan(1));
    const auto output = decompress(codec, input, output_max);
    LKS_ASSERT(!output.ok() || output->size() <= output_max);
    const auto back = decompress(codec, compress(codec, input), input.size());
    LKS_ASSERT(back.ok() && *back == input);
    return 0;
}
