// SPDX-License-Identifier: Apache-2.0
// Rules for what is created; what others created under other rules is still read.
#pragma once

#include <cstdint>

#include "catalog/catalog.h"

namespace lakestream::catalog {

inline constexpr std::uint32_t partitions_max = 100'000;

/// A namespace and a name: 1 to 249 letters, digits, `.`, `-`, `_`; not `.` or `..`; a namespace
/// does not begin with `_` (reserved); a name does not end in `-partition-<number>` (its records
/// would stand where another stream's partitions do). Properties are UTF-8, at most 256 KiB
/// together. Errors: `invalid_argument`, saying what to change.
Status validate(const StreamSpec& spec);

}  // namespace lakestream::catalog
