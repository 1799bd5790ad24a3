// SPDX-License-Identifier: Apache-2.0
// Footers that are there, and lengths that cannot be.
#include "table/parquet_footer.h"

#include <gtest/gtest.h>

#include <string>

namespace lakestream::table {
namespace {

Bytes tail(std::string_view text) {
    return Bytes::copy(text);
}

TEST(ParquetFooter, its_length_stands_before_the_magic_word) {
    using namespace std::string_view_literals;
    EXPECT_EQ(parquet_footer_bytes(tail("\x02\x01\0\0PAR1"sv), 1000).value(), 258U + 8);
    EXPECT_EQ(parquet_footer_bytes(tail("xyz\x03\0\0\0PAR1"sv), 11).value(), 11U);
}

TEST(ParquetFooter, a_length_beyond_the_file_is_damage_and_so_is_another_ending) {
    using namespace std::string_view_literals;
    EXPECT_TRUE(parquet_footer_bytes(tail("\x04\0\0\0PAR1"sv), 11).is(ErrorCode::corrupt));
    EXPECT_TRUE(parquet_footer_bytes(tail("\xff\xff\xff\xffPAR1"sv), 11).is(ErrorCode::corrupt));
    EXPECT_TRUE(parquet_footer_bytes(tail("\x03\0\0\0PAR2"sv), 11).is(ErrorCode::corrupt));
    EXPECT_TRUE(parquet_footer_bytes(tail("PAR1"), 4).is(ErrorCode::corrupt));
    EXPECT_TRUE(parquet_footer_bytes(tail("\x03\0\0\0PARE"sv), 11).is(ErrorCode::unsupported));
}

}  // namespace
}  // namespace lakestream::table
