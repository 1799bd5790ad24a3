// SPDX-License-Identifier: Apache-2.0
// Base64 against the vectors of RFC 4648, and what is refused.
#include "codec/base64.h"

#include <gtest/gtest.h>

namespace lakestream::codec {
namespace {

std::string encode(std::string_view text) {
    return base64_encode(std::as_bytes(std::span(text)));
}

TEST(Base64, rfc_vectors_both_ways) {
    const std::pair<const char*, const char*> vectors[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (const auto& [plain, text] : vectors) {
        EXPECT_EQ(encode(plain), text);
        EXPECT_EQ(base64_decode(text)->view(), plain);
    }
}

TEST(Base64, refuses_what_no_encoder_writes) {
    for (const char* text : {"Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zm 9", "Zg==Zg=="}) {
        EXPECT_FALSE(base64_decode(text).ok()) << text;
    }
}

}  // namespace
}  // namespace lakestream::codec
