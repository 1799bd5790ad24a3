// SPDX-License-Identifier: Apache-2.0
// TempFolder: a folder for one test, deleted with everything in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/assert.h"

namespace lakestream::objstore {

class TempFolder {
  public:
    explicit TempFolder(const std::string& parent = std::filesystem::temp_directory_path())
        : path_(parent + "/lakestream-XXXXXX") {
        LKS_ASSERT(mkdtemp(path_.data()) != nullptr);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::string& path() const noexcept { return path_; }

  private:
    std::string path_;
};

}  // namespace lakestream::objstore
