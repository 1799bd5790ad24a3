// SPDX-License-Identifier: Apache-2.0
// The version of this program and library.
#pragma once

#include <string_view>

namespace lakestream {

/// As in CMakeLists.txt.
inline constexpr std::string_view version = "0.1.0";

}  // namespace lakestream
