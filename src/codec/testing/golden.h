// SPDX-License-Identifier: Apache-2.0
// Golden files for tests: from LKS_GOLDEN_DIR, or from tests/golden of the source tree.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "lakestream/bytes.h"

namespace lakestream::codec {

inline std::filesystem::path golden_dir() {
    const char* const other = std::getenv("LKS_GOLDEN_DIR");
    return other != nullptr ? other : LKS_SOURCE_DIR "/tests/golden";
}

inline Bytes golden_file(std::string_view path) {
    std::ifstream file(golden_dir() / path, std::ios::binary);
    LKS_ASSERT(file.good());
    return Bytes::own(std::string(std::istreambuf_iterator<char>(file), {}));
}

inline nlohmann::json golden_json(std::string_view path) {
    return nlohmann::json::parse(golden_file(path).view());
}

inline std::string to_hex(const Bytes& bytes) {
    std::string hex;
    for (const std::byte byte : bytes) {
        hex += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    }
    return hex;
}

inline Bytes from_hex(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    }
    return Bytes::own(std::move(bytes));
}

}  // namespace lakestream::codec
