// SPDX-License-Identifier: Apache-2.0
// The stored fold state: what is read is written, and read again as the same.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "log/fold.h"

using namespace lakestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto state = log::decode_fold(Bytes::copy(std::as_bytes(std::span(data, size))));
    if (state.ok()) {
        const auto again = log::decode_fold(log::encode_fold(*state));
        LKS_ASSERT(again.ok() && *again == *state);
    }
    return 0;
}
