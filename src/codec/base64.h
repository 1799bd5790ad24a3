// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648 section 4), with padding.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lakestream/bytes.h"
#include "lakestream/result.h"

namespace lakestream::codec {

std::string base64_encode(std::span<const std::byte> bytes);
/// Errors: `corrupt` (a foreign character, a wrong length, padding bits that are not zero).
Result<Bytes> base64_decode(std::string_view text);

}  // namespace lakestream::codec
