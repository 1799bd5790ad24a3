// SPDX-License-Identifier: Apache-2.0
// The two orders of keys, and an encoding whose plain byte order is the order of the keys.
//
// Hierarchical: keys are lists of segments, cut at "/". Compare segment by segment; where one key
// has its last segment and the other has not, the one that ends comes first; else bytes decide. So
// the direct children of P are exactly the keys in [P "/", P "//"), and
//
//     b  <  /  <  /a  <  /b  <  //  <  /a/x  <  /a//  <  /b/c  <  a/b  <  a/b/c
//
// Encoded, a segment is preceded by one byte that says whether it is the last; it stands where the
// "/" was and is below every byte of a segment:
//
//     "/a/x"  ->  01 | 01 'a' | 00 'x'          one byte longer than the key
//
// Bytes 00, 01 and 02 inside a segment (control characters, legal in UTF-8) are written 02 00,
// 02 01, 02 02. Natural order is the order of the bytes; its encoding is the key itself.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "lakestream/result.h"
#include "meta/metadata_store.h"

namespace lakestream::meta {

/// Which key comes first. The definition; stores compare encoded keys.
std::strong_ordering compare_keys(KeyOrder order, std::string_view a, std::string_view b);

/// Bytes that compare (memcmp, shorter first) as the keys do.
std::string encode_key(KeyOrder order, std::string_view key);

/// `corrupt` when `encoded` was not made by `encode_key`.
Result<std::string> decode_key(KeyOrder order, std::string_view encoded);

}  // namespace lakestream::meta
