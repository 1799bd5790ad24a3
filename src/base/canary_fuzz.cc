// SPDX-License-Identifier: Apache-2.0
// The canary: a fuzzer that must crash, so that we notice when the others cannot.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static constexpr std::array<std::uint8_t, 4> planted = {'m', 'i', 'n', 'e'};
    LKS_ASSERT(!std::ranges::equal(std::span(data, size), planted));
    return 0;
}
