// SPDX-License-Identifier: Apache-2.0
// CRC-32 (IEEE 802.3), as the pages of Parquet files and gzip use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lakestream::codec {

/// The CRC of `bytes` ("123456789" gives cbf43926). `seed` is the CRC of the bytes in front, so
/// that a CRC is computed piece by piece. Costs about 0.06 ns per byte where the processor
/// multiplies without carries, else what zlib takes.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t seed = 0) noexcept;

}  // namespace lakestream::codec
