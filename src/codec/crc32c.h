// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), as Kafka record batches and object stores use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lakestream::codec {

/// The CRC of `bytes` (RFC 3720, appendix B.4; "123456789" gives e3069283). `seed` is the CRC of
/// the bytes in front, so that a CRC is computed piece by piece. Costs about 0.05 ns per byte.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0) noexcept;

/// The CRC of two runs of bytes put together, from their CRCs and the size of the second, without
/// reading either. Costs O(log size). Range: second_size < 2^60.
std::uint32_t crc32c_combine(
    std::uint32_t first, std::uint32_t second, std::uint64_t second_size
) noexcept;

/// crc32c() without the processor's help, for machines that lack it. Built everywhere, so that it
/// is tested everywhere.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t seed = 0) noexcept;

}  // namespace lakestream::codec
