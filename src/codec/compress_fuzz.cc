// SPDX-License-Identifier: Apache-2.0
// Byte 0 picks a codec (5: bare deflate). The rest is decompressed as it is, and round-trips when
// compressed.
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
    const auto input = lakestream::Bytes::copy(std::as_bytes(std::span(data, size)).subspan(1));
    const auto codec = compression_from(data[0] % 6);
    const auto output =
        codec ? decompress(*codec, input, output_max) : inflate_raw(input, output_max);
    LKS_ASSERT(!output.ok() || output->size() <= output_max);
    const auto back = codec ? decompress(*codec, compress(*codec, input), input.size())
                            : inflate_raw(deflate_raw(input), input.size());
    LKS_ASSERT(back.ok() && *back == input);
    return 0;
}
