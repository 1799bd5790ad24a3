// SPDX-License-Identifier: Apache-2.0
// Where the footer of a Parquet file begins: the file ends with it, its length and a magic word.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "lakestream/bytes.h"

namespace lakestream::table {

/// What follows a footer in the file.
inline constexpr std::uint64_t parquet_end_bytes = 8;

/// How many of the file's last bytes hold the footer and all behind it, at most `file_bytes`.
/// `tail` is the last bytes, at least parquet_end_bytes. Errors: `corrupt` (not Parquet, or longer
/// than the file), `unsupported` (an encrypted footer).
Result<std::uint64_t> parquet_footer_bytes(const Bytes& tail, std::uint64_t file_bytes);

}  // namespace lakestream::table
