// SPDX-License-Identifier: Apache-2.0
// printf's formats into lines of the log.
#include "meta/embedded/rocksdb_log.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/log.h"

namespace lakestream::meta::embedded {

namespace {

constexpr std::size_t line_bytes_max = 1024;  // what is longer is cut

}  // namespace

void RocksdbLog::Logv(rocksdb::InfoLogLevel level, const char* format, std::va_list arguments) {
    if (level < GetInfoLogLevel() || level == rocksdb::InfoLogLevel::HEADER_LEVEL) {
        return;
    }
    std::array<char, line_bytes_max> line{};
    if (std::vsnprintf(line.data(), line.size(), format, arguments) < 0) {
        return;
    }
    std::string text(line.data());
    std::ranges::replace(text, '\n', ' ');
    log::warn("meta", "rocksdb says={}", text);
}

}  // namespace lakestream::meta::embedded
