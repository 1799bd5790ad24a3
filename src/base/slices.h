// SPDX-License-Identifier: Apache-2.0
// Slices: one run of bytes made of several Bytes, so that objects are written without copying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lakestream/bytes.h"

namespace lakestream {

/// An ordered list of slices read as one run of bytes. Value; copying shares the memory.
class Slices {
  public:
    Slices() = default;
    explicit Slices(Bytes bytes) { append(std::move(bytes)); }

    void append(Bytes bytes) {
        if (!bytes.empty()) {
            size_ += bytes.size();
            parts_.push_back(std::move(bytes));
        }
    }

    void append(const Slices& other) {
        parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
        size_ += other.size_;
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    const std::vector<Bytes>& parts() const noexcept { return parts_; }

    /// All bytes in one buffer: shared if there is only one part, else copied.
    Bytes join() const {
        if (parts_.size() == 1) {
            return parts_.front();
        }
        std::vector<std::byte> all;
        all.reserve(size_);
        for (const Bytes& part : parts_) {
            all.insert(all.end(), part.begin(), part.end());
        }
        return Bytes::own(std::move(all));
    }

    /// Whether they hold the same bytes, however cut. Cost: copies what has several parts.
    friend bool operator==(const Slices& a, const Slices& b) {
        return a.size_ == b.size_ && a.join() == b.join();
    }

  private:
    std::vector<Bytes> parts_;
    std::size_t size_ = 0;
};

}  // namespace lakestream
