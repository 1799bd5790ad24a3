// SPDX-License-Identifier: Apache-2.0
// Each kind of damage, and none, offset by offset.
#include "cli/row_differences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace lakestream::cli {
namespace {

using Kind = RowDifference::Kind;

class RowDifferencesTest : public testing::Test {
  protected:
    static table::Row row(std::int64_t offset, std::string_view value) {
        return {.partition = 3, .offset = offset, .value = std::as_bytes(std::span(value))};
    }
    void log(std::int64_t offset, std::string_view value) { found_.add_log(row(offset, value)); }
    void table(std::int64_t offset, std::string_view value, std::size_t file = 0) {
        found_.add_table(row(offset, value), file);
    }
    /// Offsets 0 to 9 on both sides, but for those that the test adds to the table itself.
    void fill(std::initializer_list<std::int64_t> but) {
        for (std::int64_t i = 0; i < 10; ++i) {
            const std::string value = std::to_string(i);
            log(i, value);
            if (std::ranges::find(but, i) == but.end()) {
                table(i, value);
            }
        }
    }

    RowDifferences found_;
};

TEST_F(RowDifferencesTest, Equal) {
    fill({});
    EXPECT_TRUE(found_.find().empty());
}

TEST_F(RowDifferencesTest, MissingRowsAreOneRange) {
    fill({2, 3, 4, 8});
    const std::vector<RowDifference> wanted{
        {.kind = Kind::missing, .first = 2, .last = 4, .rows = 3},
        {.kind = Kind::missing, .first = 8, .last = 8, .rows = 1},
    };
    EXPECT_EQ(found_.find(), wanted);
}

TEST_F(RowDifferencesTest, ChangedRow) {
    fill({5});
    table(5, "other", 7);
    const std::vector<RowDifference> wanted{
        {.kind = Kind::changed, .first = 5, .last = 5, .rows = 1, .file_first = 7, .file_last = 7},
    };
    EXPECT_EQ(found_.find(), wanted);
}

TEST_F(RowDifferencesTest, NullIsNotEmpty) {
    log(0, "");
    found_.add_table({.partition = 3, .offset = 0}, 0);
    ASSERT_EQ(found_.find().size(), 1U);
    EXPECT_EQ(found_.find()[0].kind, Kind::changed);
}

TEST_F(RowDifferencesTest, RepeatedRow) {
    fill({});
    table(6, "6", 1);
    const std::vector<RowDifference> wanted{
        {.kind = Kind::repeated, .first = 6, .last = 6, .rows = 1, .times = 2, .file_last = 1},
    };
    EXPECT_EQ(found_.find(), wanted);
}

TEST_F(RowDifferencesTest, SwappedRows) {
    fill({1, 9});
    table(1, "9");
    table(9, "1");
    const std::vector<RowDifference> wanted{
        {.kind = Kind::swapped, .first = 1, .last = 1, .rows = 1, .other = 9},
        {.kind = Kind::swapped, .first = 9, .last = 9, .rows = 1, .other = 1},
    };
    EXPECT_EQ(found_.find(), wanted);
}

TEST_F(RowDifferencesTest, RowsThatTheLogHasNot) {
    fill({});
    table(10, "ten");
    table(11, "eleven");
    const std::vector<RowDifference> wanted{
        {.kind = Kind::foreign, .first = 10, .last = 11, .rows = 2},
    };
    EXPECT_EQ(found_.find(), wanted);
}

}  // namespace
}  // namespace lakestream::cli
