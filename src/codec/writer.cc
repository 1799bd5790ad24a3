// SPDX-License-Identifier: Apache-2.0
// Growing, splicing and finishing of Writer.
#include "codec/writer.h"

#include <algorithm>
#include <utility>

namespace lakestream::codec {

void Writer::make_room(std::size_t count) {
    constexpr std::size_t first_capacity = 256;
    buffer_.resize(std::max({first_capacity, buffer_.size() * 2, used_ + count}));
}

void Writer::splice(Bytes bytes) {
    if (bytes.size() < splice_bytes_min) {
        raw(bytes.span());
        return;
    }
    spliced_ += bytes.size();
    splices_.push_back({.buffer_at = used_, .bytes = std::move(bytes)});
}

void Writer::splice(const Slices& slices) {
    for (const Bytes& part : slices.parts()) {
        splice(part);
    }
}

Slices Writer::finish() {
    buffer_.resize(used_);
    const Bytes own = Bytes::own(std::exchange(buffer_, {}));
    Slices all;
    std::size_t done = 0;
    for (Splice& splice : splices_) {
        all.append(own.slice(done, splice.buffer_at - done));
        all.append(std::move(splice.bytes));
        done = splice.buffer_at;
    }
    all.append(own.slice(done, used_ - done));
    splices_.clear();
    used_ = 0;
    spliced_ = 0;
    return all;
}

}  // namespace lakestream::codec
