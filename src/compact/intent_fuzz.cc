// SPDX-License-Identifier: Apache-2.0
// Any bytes are read or refused; what is read is written as those bytes' meaning.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "compact/intent.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lakestream;  // NOLINT
    const auto* const bytes = reinterpret_cast<const std::byte*>(data);
    const auto state = compact::decode_state(Bytes::copy(std::span(bytes, size)));
    if (state.ok()) {
        const auto again = compact::decode_state(compact::encode_state(*state));
        LKS_ASSERT(again.ok() && *again == *state);
    }
    return 0;
}
