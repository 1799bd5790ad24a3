// SPDX-License-Identifier: Apache-2.0
// Reader: a bounded cursor over bytes that others wrote. Big-endian integers and varints.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/endian.h"
#include "codec/varint.h"
#include "lakestream/bytes.h"
#include "lakestream/result.h"

namespace lakestream::codec {

/// Reads forward and never past the end. Failure is sticky: the first read that does not fit (or a
/// varint that is too long) fails the reader, and from then on every read gives zero or nothing, so
/// a decoder reads a whole structure and asks `ok()` or `status()` once, at its end.
///
/// A loop over a claimed count must stop on `!ok()`, and must not reserve memory by the claim:
/// compare it with `remaining()` first.
///
/// Views live as long as the bytes read; a Reader made from Bytes keeps those alive itself.
class Reader {
  public:
    /// `bytes()` gives slices that share `input`.
    explicit Reader(Bytes input) noexcept
        : input_(std::move(input)),
          begin_(input_.data()),
          at_(begin_),
          end_(begin_ + input_.size()),
          shares_(true) {}

    /// `input` must outlive the reader and its views; `bytes()` gives copies.
    explicit Reader(std::span<const std::byte> input) noexcept
        : begin_(input.data()), at_(begin_), end_(begin_ + input.size()) {}

    bool ok() const noexcept { return !failed_; }

    /// Success, or an error that names `what` was being read and where it broke.
    Status status(std::string_view what, ErrorCode code = ErrorCode::corrupt) const;

    /// Fail by the caller's own judgement of what it read.
    void fail() noexcept {
        failed_ = true;
        end_ = at_;
    }

    /// Bytes consumed; after a failure, where the value that failed begins.
    std::size_t position() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
    /// Bytes left; 0 after a failure.
    std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - at_); }

    std::int8_t int8() noexcept { return fixed<std::int8_t>(); }
    std::int16_t int16() noexcept { return fixed<std::int16_t>(); }
    std::int32_t int32() noexcept { return fixed<std::int32_t>(); }
    std::int64_t int64() noexcept { return fixed<std::int64_t>(); }
    std::uint8_t uint8() noexcept { return fixed<std::uint8_t>(); }
    std::uint16_t uint16() noexcept { return fixed<std::uint16_t>(); }
    std::uint32_t uint32() noexcept { return fixed<std::uint32_t>(); }
    double float64() noexcept { return std::bit_cast<double>(fixed<std::uint64_t>()); }
    /// One byte; everything but 0 is true.
    bool boolean() noexcept { return fixed<std::uint8_t>() != 0; }

    /// Unsigned varint of at most 5 bytes. Longer encodings of a value than needed are accepted;
    /// more than 32 bits are not.
    std::uint32_t uvarint() noexcept {
        if (at_ != end_ && *at_ < std::byte{0x80}) [[likely]] {
            return std::to_integer<std::uint32_t>(*at_++);
        }
        return static_cast<std::uint32_t>(long_uvarint(32));
    }

    /// Unsigned varint of at most 10 bytes, with the same rules.
    std::uint64_t uvarint64() noexcept {
        if (at_ != end_ && *at_ < std::byte{0x80}) [[likely]] {
            return std::to_integer<std::uint64_t>(*at_++);
        }
        return long_uvarint(64);
    }

    /// Zigzag varint of 32 bits (Kafka's VARINT).
    std::int32_t varint() noexcept { return unzigzag(uvarint()); }
    /// Zigzag varint of 64 bits (Kafka's VARLONG).
    std::int64_t varlong() noexcept { return unzigzag(uvarint64()); }

    /// The next `count` bytes, borrowed.
    std::span<const std::byte> span(std::size_t count) noexcept {
        const std::byte* from = take(count);
        return from == nullptr ? std::span<const std::byte>() : std::span(from, count);
    }
    /// The next `count` bytes as text, borrowed; nothing is said about their encoding.
    std::string_view view(std::size_t count) noexcept {
        const auto taken = span(count);
        return {reinterpret_cast<const char*>(taken.data()), taken.size()};
    }
    /// The next `count` bytes, owned: a slice of the input, or a copy if that was only a span.
    Bytes bytes(std::size_t count) {
        const std::size_t from = position();
        const auto taken = span(count);
        return shares_ ? input_.slice(from, taken.size()) : Bytes::copy(taken);
    }
    void skip(std::size_t count) noexcept { take(count); }

  private:
    /// Where the next `count` bytes start, consumed; null and failed if there are not that many.
    const std::byte* take(std::size_t count) noexcept {
        if (count > remaining()) [[unlikely]] {
            fail();
            return nullptr;
        }
        return std::exchange(at_, at_ + count);
    }

    template <std::integral T>
    T fixed() noexcept {
        const std::byte* from = take(sizeof(T));
        return from == nullptr ? T{} : load_be<T>(from);
    }

    std::uint64_t long_uvarint(unsigned bits) noexcept;

    Bytes input_;  // empty when the input is only borrowed
    const std::byte* begin_;
    const std::byte* at_;
    const std::byte* end_;
    bool shares_ = false;
    bool failed_ = false;
};

}  // namespace lakestream::codec
