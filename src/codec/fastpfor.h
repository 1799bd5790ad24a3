// SPDX-License-Identifier: Apache-2.0
// Integer arrays as JavaFastPFOR's IntegratedIntCompressor packs them.
//
// The form is a sequence of 32-bit words, each stored big-endian (docs/formats/fastpfor.md):
//
//   n                                     how many values
//   widths(4 x 8 bit) block block block block    while 4 full blocks of 32 deltas are left
//   width block                           for each of the 1 to 3 full blocks left
//   0                                     only if 0 < n < 32: stands in for the blocks
//   tail                                  the last n mod 32 deltas in 7-bit groups, zero-padded
//
// A delta is a value minus the one before it, mod 2^32; the first is taken against 0. A block is 32
// deltas of `width` bits, lowest bit first, in `width` words. A tail number has its low group first
// and 0x80 on its *last* byte; the bytes fill words from their low end.
//
//   [10, 20]  ->  00000002 00000000 00008a8a
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lakestream/bytes.h"
#include "lakestream/result.h"

namespace lakestream::codec {

/// The packed form, word for word what JavaFastPFOR 0.2.1 writes. Range: fewer than 2^31 values.
Bytes fastpfor_encode(std::span<const std::uint32_t> values);

/// The values of a packed form. Words after its end are ignored, as the Java reader does. `corrupt`
/// if the form is no whole number of words, is cut short, says a width above 32 or a tail number
/// above 32 bits, or claims more than `values_max` values. Memory: at most 128 bytes per byte read.
Result<std::vector<std::uint32_t>> fastpfor_decode(
    std::span<const std::byte> packed, std::size_t values_max
);

}  // namespace lakestream::codec
