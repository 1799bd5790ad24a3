// SPDX-License-Identifier: Apache-2.0
// Object names: their form, their dates, and what is none.
#include "wal/object_name.h"

#include <gtest/gtest.h>

namespace lakestream::wal {
namespace {

TEST(ObjectName, carries_its_date_and_a_version_4_uuid) {
    std::array<std::byte, 16> random{};
    random.fill(std::byte{0xff});
    const WallTime date = wall_from_ms(1'782'909'296'789);
    const std::string name = make_object_name(date, random);
    EXPECT_EQ(name, "2026/07/01/12/34/56/ffffffff-ffff-4fff-bfff-ffffffffffff");
    EXPECT_EQ(object_date(name), wall_from_ms(1'782'909'296'000));
    EXPECT_EQ(
        make_object_name(wall_from_ms(0), {}),
        "1970/01/01/00/00/00/00000000-0000-4000-8000-000000000000"
    );
}

TEST(ObjectName, every_date_comes_back) {
    // A step that is no multiple of a minute, an hour or a day, across leap years.
    for (std::int64_t ms = 0; ms < 7'000'000'000'000; ms += 987'654'321'000) {
        EXPECT_EQ(object_date(make_object_name(wall_from_ms(ms), {})), wall_from_ms(ms)) << ms;
    }
    EXPECT_TRUE(object_date("2028/02/29/23/59/59/u").has_value());
}

TEST(ObjectName, other_names_have_no_date) {
    for (const char* other :
         {"",
          "x",
          "2026/07/01/12/34/uuid",
          "2026/07/01/12/34/56",
          "2026/07/01/12/34/56/",
          "2026/13/01/12/34/56/u",
          "2026/00/01/12/34/56/u",
          "2026/02/29/12/34/56/u",
          "2026/07/01/24/34/56/u",
          "2026/07/01/12/60/56/u",
          "2026/07/01/12/34/60/u",
          "2026/07/01/12/34/-1/u",
          "2026/07/01/12/34/-0/u",
          "2026/07/01/12/34/+1/u",
          "2026/07/01/12/34/ 1/u",
          "2026-07-01-12-34-56-u",
          "wal/2026/07/01/12/34/56/u",
          "26/07/01/12/34/56/u"}) {
        EXPECT_EQ(object_date(other), std::nullopt) << other;
    }
}

}  // namespace
}  // namespace lakestream::wal
