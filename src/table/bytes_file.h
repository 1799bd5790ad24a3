// SPDX-License-Identifier: Apache-2.0
// BytesFile: a RandomFile that is in memory whole.
#pragma once

#include <utility>

#include "table/files.h"

namespace lakestream::table {

class BytesFile final : public RandomFile {
  public:
    explicit BytesFile(Bytes bytes) : bytes_(std::move(bytes)) {}

    std::uint64_t size() const override { return bytes_.size(); }

    Result<Bytes> read(std::uint64_t offset, std::uint64_t count) override {
        if (offset > bytes_.size() || count > bytes_.size() - offset) {
            return out_of_range("{} bytes at {} of {}", count, offset, bytes_.size());
        }
        return bytes_.slice(offset, count);
    }

  private:
    Bytes bytes_;
};

}  // namespace lakestream::table
