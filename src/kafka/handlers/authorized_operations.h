// SPDX-License-Identifier: Apache-2.0
// What a client may do, as bits: bit n = ACL operation n. Without an authorizer, all that apply to
// the resource.
#pragma once

#include <cstdint>

namespace lakestream::kafka {

inline constexpr std::int32_t topic_operations = 0b1101'1111'1000;      // 3-8, 10, 11
inline constexpr std::int32_t cluster_operations = 0b1'1111'1010'0000;  // 5, 7-12

}  // namespace lakestream::kafka
