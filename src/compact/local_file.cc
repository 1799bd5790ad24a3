// SPDX-License-Identifier: Apache-2.0
// Reading and removing scratch files.
#include "compact/local_file.h"

#include <filesystem>
#include <fstream>
#include <utility>

namespace lakestream::compact {

Result<Bytes> read_local_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = in.tellg();
    if (!in || size < 0) {
        return unavailable("scratch file {} cannot be read", path);
    }
    std::string bytes;
    in.seekg(0);
    bytes.resize_and_overwrite(static_cast<std::size_t>(size), [&](char* to, std::size_t count) {
        in.read(to, static_cast<std::streamsize>(count));
        return static_cast<std::size_t>(in.gcount());
    });
    if (bytes.size() != static_cast<std::size_t>(size)) {
        return unavailable("scratch file {} ended early", path);
    }
    return Bytes::own(std::move(bytes));
}

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
