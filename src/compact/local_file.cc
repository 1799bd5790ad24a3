// SPDX-License-Identifier: Apache-2.0
// Removing scratch files.
#include "compact/local_file.h"

#include <filesystem>

namespace lakestream::compact {

void remove_local_file(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
}

Status make_empty_folder(const std::string& path) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    std::filesystem::create_directories(path, error);
    if (error) {
        return unsupported(
            "folder {} cannot be made: {}; choose one that may be written", path, error.message()
        );
    }
    return {};
}

}  // namespace lakestream::compact
