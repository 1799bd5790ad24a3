// SPDX-License-Identifier: Apache-2.0
// What every store refuses before it does anything: `invalid_argument`, and nothing was applied.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/time.h"
#include "lakestream/result.h"
#include "meta/metadata_store.h"

namespace lakestream::meta {

inline constexpr std::size_t batch_operations_max = 100'000;
/// Keys, partition keys, values and identities together. Far below what stalls a server's log.
inline constexpr std::size_t batch_bytes_max = std::size_t{8} << 20;
inline constexpr Duration session_timeout_min = 2s;
inline constexpr Duration session_timeout_max = 5min;
/// Keys under it are the servers' own.
inline constexpr std::string_view internal_prefix = "__oxia/";

/// Whether `text` is UTF-8: no overlong form, no surrogate, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

std::size_t operations(const ShardBatch& batch) noexcept;
/// The bytes of a batch as the limit counts them.
std::size_t batch_bytes(const ShardBatch& batch) noexcept;

Status validate(const ShardBatch& batch);
Status validate(const Get& request);
Status validate(const Range& range);
Status validate_session_timeout(Duration timeout);

}  // namespace lakestream::meta
