// SPDX-License-Identifier: Apache-2.0
// MemoryFile: a RandomFile over bytes, for tests. It may be told to fail.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"
#include "table/files.h"

namespace lakestream::table {

class MemoryFile : public RandomFile {
  public:
    explicit MemoryFile(Bytes content) : content_(std::move(content)) {}

    static std::unique_ptr<MemoryFile> of(Bytes content) {
        return std::make_unique<MemoryFile>(std::move(content));
    }

    /// Every read from now on has this error, until there is none.
    void fail_with(std::optional<Error> error) { error_ = std::move(error); }

    std::uint64_t size() const override { return content_.size(); }
    Result<Bytes> read(std::uint64_t offset, std::uint64_t count) override {
        if (error_.has_value()) {
            return *error_;
        }
        LKS_ASSERT(offset <= content_.size() && count <= content_.size() - offset);
        return content_.slice(offset, count);
    }

  private:
    Bytes content_;
    std::optional<Error> error_;
};

inline Bytes read_local(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    LKS_ASSERT(file.good());
    return Bytes::own(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace lakestream::table
