// SPDX-License-Identifier: Apache-2.0
// Sequence keys: `prefix` and, for each number, "-" and 20 digits; the numbers only grow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lakestream/result.h"

namespace lakestream::meta {

/// The numbers of a sequence key, the first one first.
using SequenceNumbers = std::vector<std::uint64_t>;

/// "prefix-00000000000000000005-00000000000000000017".
std::string sequence_key(std::string_view prefix, std::span<const std::uint64_t> numbers);

/// The key above all of a sequence: the highest stored key below it tells the current numbers.
std::string sequence_end(std::string_view prefix);

/// The current numbers of a sequence, given the highest stored key below `sequence_end`. None when
/// that key does not begin with the prefix. `invalid_argument` when a part of it is no number, as
/// when something else was stored under the sequence's name.
Result<SequenceNumbers> current_numbers(std::string_view prefix, std::string_view highest);

/// The numbers of the next key: `deltas` added to `current`, of which missing ones are 0.
/// `invalid_argument`: first delta 0, fewer deltas than numbers, or a sum that cannot be a key
/// (the first above 2^64-2, another one above 2^64-1).
Result<SequenceNumbers> next_numbers(
    const SequenceNumbers& current, std::span<const std::uint64_t> deltas
);

}  // namespace lakestream::meta
