// SPDX-License-Identifier: Apache-2.0
// Bytes: an immutable, reference-counted slice of memory. Copying shares; nothing is ever copied.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lakestream {

/// Immutable slice of shared memory. The sharers are the slices of one buffer; the last one frees
/// it. A small slice keeps its whole buffer alive: call `compact()` before holding one for long.
class Bytes {
  public:
    Bytes() = default;

    /// Take over the vector's memory.
    static Bytes own(std::vector<std::byte> data) {
        auto owner = std::make_shared<const std::vector<std::byte>>(std::move(data));
        const std::byte* begin = owner->data();
        const std::size_t size = owner->size();
        return Bytes(std::move(owner), begin, size);
    }

    /// Take over the string's memory.
    static Bytes own(std::string data) {
        auto owner = std::make_shared<const std::string>(std::move(data));
        const auto* begin = reinterpret_cast<const std::byte*>(owner->data());
        const std::size_t size = owner->size();
        return Bytes(std::move(owner), begin, size);
    }

    /// Copy `data` into a buffer of its own.
    static Bytes copy(std::span<const std::byte> data) {
        return own(std::vector<std::byte>(data.begin(), data.end()));
    }

    static Bytes copy(std::string_view data) { return copy(std::as_bytes(std::span(data))); }

    /// A slice of memory kept alive by `owner`.
    static Bytes share(std::shared_ptr<const void> owner, std::span<const std::byte> data) {
        return Bytes(std::move(owner), data.data(), data.size());
    }

    const std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    std::byte operator[](std::size_t i) const noexcept { return data_[i]; }
    const std::byte* begin() const noexcept { return data_; }
    const std::byte* end() const noexcept { return data_ + size_; }
    std::span<const std::byte> span() const noexcept { return {data_, size_}; }
    std::string_view view() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }

    /// The bytes [offset, offset + count), sharing the buffer. Precondition: inside this slice.
    Bytes slice(std::size_t offset, std::size_t count) const {
        return Bytes(owner_, data_ + offset, count);
    }

    /// A copy in a buffer of its own size, so that a large buffer is not pinned.
    Bytes compact() const { return copy(span()); }

    friend bool operator==(const Bytes& a, const Bytes& b) noexcept {
        return a.size_ == b.size_ && (a.size_ == 0 || std::memcmp(a.data_, b.data_, a.size_) == 0);
    }

  private:
    Bytes(std::shared_ptr<const void> owner, const std::byte* data, std::size_t size)
        : owner_(std::move(owner)), data_(data), size_(size) {}

    std::shared_ptr<const void> owner_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace lakestream
