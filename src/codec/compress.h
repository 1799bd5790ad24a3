// SPDX-License-Identifier: Apache-2.0
// Kafka's compression codecs over whole buffers, and bare deflate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lakestream/bytes.h"
#include "lakestream/result.h"

namespace lakestream::codec {

/// Numbers as in the attributes of a record batch.
enum class Compression : std::uint8_t { none = 0, gzip = 1, snappy = 2, lz4 = 3, zstd = 4 };

/// The codec with this number, or nothing if there is none.
constexpr std::optional<Compression> compression_from(unsigned number) {
    return number <= 4 ? std::optional(static_cast<Compression>(number)) : std::nullopt;
}

/// "none", "gzip", "snappy", "lz4", "zstd": the words of Kafka's configuration.
std::string_view to_string(Compression codec) noexcept;

/// The bytes that were compressed. gzip and zstd: one or more members or frames; lz4: frame format;
/// snappy: raw, or in the framing of snappy-java, told apart by its magic. `none` shares the input.
///
/// Memory grows with what really comes out, never by a claim in the input. `exhausted` if more than
/// `size_max` bytes come out; `corrupt` if the input is malformed or cut short.
Result<Bytes> decompress(Compression codec, const Bytes& input, std::size_t size_max);

/// A form that `decompress()` and Kafka's clients read, at the codec's default level; snappy in the
/// framing of snappy-java, lz4 in independent blocks of 64 KiB, as the Java client writes them.
/// Precondition: input below 2 GiB.
Bytes compress(Compression codec, const Bytes& input);

/// DEFLATE without any wrapper (RFC 1951), one stream, as Avro's container files have it. The same
/// promises and errors as `decompress()`.
Result<Bytes> inflate_raw(const Bytes& input, std::size_t size_max);

/// What `inflate_raw()` reads. Precondition: input below 2 GiB.
Bytes deflate_raw(const Bytes& input);

}  // namespace lakestream::codec
