// SPDX-License-Identifier: Apache-2.0
// UUIDs: version bits, text, and what is no UUID.
#include "base/uuid.h"

#include <gtest/gtest.h>

namespace lakestream {
namespace {

TEST(Uuid, a_random_one_says_so) {
    Uuid random;
    random.fill(std::byte{0xff});
    EXPECT_EQ(uuid_text(make_uuid(random)), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    EXPECT_EQ(uuid_text(make_uuid(Uuid{})), "00000000-0000-4000-8000-000000000000");
}

TEST(Uuid, text_is_read_back_in_both_cases) {
    const std::string text = "0123abcd-4567-489a-bcde-f00112233445";
    ASSERT_TRUE(parse_uuid(text).has_value());
    EXPECT_EQ(uuid_text(*parse_uuid(text)), text);
    EXPECT_EQ(parse_uuid("0123ABCD-4567-489A-BCDE-F00112233445"), parse_uuid(text));
}

TEST(Uuid, anything_else_is_refused) {
    for (const std::string_view text : {
             "",
             "0123abcd",
             "0123abcd-4567-489a-bcde-f0011223344",    // one short
             "0123abcd-4567-489a-bcde-f001122334455",  // one long
             "0123abcd04567-489a-bcde-f00112233445",   // a digit for a dash
             "0123abcg-4567-489a-bcde-f00112233445",
         }) {
        EXPECT_FALSE(parse_uuid(text).has_value()) << text;
    }
}

}  // namespace
}  // namespace lakestream
