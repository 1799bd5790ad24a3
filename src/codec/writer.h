// SPDX-License-Identifier: Apache-2.0
// Writer: a growing buffer of big-endian integers and varints that ends as Slices.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/endian.h"
#include "base/slices.h"
#include "codec/varint.h"
#include "lakestream/bytes.h"

namespace lakestream::codec {

/// Writes forward into one buffer of its own. Large payloads are spliced in by reference and never
/// copied. A number whose value is known only later is left open and patched.
class Writer {
  public:
    /// An int32 left open: see `open_int32()`.
    struct OpenInt32 {
        std::size_t buffer_at;
        std::size_t size_after;
    };

    /// Spliced bytes below this size are copied: cheaper than one more slice on its way to a
    /// socket, and a short slice does not pin its buffer.
    static constexpr std::size_t splice_bytes_min = 256;

    Writer() = default;
    /// Start with room for `capacity` bytes.
    explicit Writer(std::size_t capacity) { buffer_.resize(capacity); }

    /// Bytes written so far, spliced ones included.
    std::size_t size() const noexcept { return used_ + spliced_; }

    void int8(std::int8_t value) { fixed(value); }
    void int16(std::int16_t value) { fixed(value); }
    void int32(std::int32_t value) { fixed(value); }
    void int64(std::int64_t value) { fixed(value); }
    void uint8(std::uint8_t value) { fixed(value); }
    void uint16(std::uint16_t value) { fixed(value); }
    void uint32(std::uint32_t value) { fixed(value); }
    void float64(double value) { fixed(std::bit_cast<std::uint64_t>(value)); }
    void boolean(bool value) { fixed(static_cast<std::uint8_t>(value)); }

    /// Unsigned varint, shortest form.
    void uvarint(std::uint32_t value) { uvarint64(value); }
    void uvarint64(std::uint64_t value) {
        std::byte* to = grow(uvarint_size(value));
        for (; value >= 0x80; value >>= 7) {
            *to++ = static_cast<std::byte>(value | 0x80);
        }
        *to = static_cast<std::byte>(value);
    }
    /// Zigzag varint of 32 bits (Kafka's VARINT).
    void varint(std::int32_t value) { uvarint64(zigzag(value)); }
    /// Zigzag varint of 64 bits (Kafka's VARLONG).
    void varlong(std::int64_t value) { uvarint64(zigzag(value)); }

    /// Copy bytes in.
    void raw(std::span<const std::byte> bytes) {
        if (!bytes.empty()) {
            std::memcpy(grow(bytes.size()), bytes.data(), bytes.size());
        }
    }
    void raw(std::string_view text) { raw(std::as_bytes(std::span(text))); }

    /// Append `bytes` by reference (by copy below splice_bytes_min).
    void splice(Bytes bytes);
    void splice(const Slices& slices);

    /// Leave an int32 open, to be filled by `patch()`.
    OpenInt32 open_int32() {
        int32(0);
        return {.buffer_at = used_ - sizeof(std::int32_t), .size_after = size()};
    }
    void patch(OpenInt32 open, std::int32_t value) noexcept {
        store_be(buffer_.data() + open.buffer_at, value);
    }
    /// Bytes written after the open int32: what a length in front of a body has to say.
    std::size_t bytes_since(OpenInt32 open) const noexcept { return size() - open.size_after; }

    /// Everything written, in order. The writer is empty afterwards.
    Slices finish();

  private:
    struct Splice {
        std::size_t buffer_at;  // own bytes that come before it
        Bytes bytes;
    };

    std::byte* grow(std::size_t count) {
        if (buffer_.size() - used_ < count) [[unlikely]] {
            make_room(count);
        }
        std::byte* const to = buffer_.data() + used_;
        used_ += count;
        return to;
    }

    template <std::integral T>
    void fixed(T value) {
        store_be(grow(sizeof(T)), value);
    }

    void make_room(std::size_t count);

    std::vector<std::byte> buffer_;  // its size is the capacity, used_ what is written
    std::size_t used_ = 0;
    std::size_t spliced_ = 0;
    std::vector<Splice> splices_;
};

}  // namespace lakestream::codec
