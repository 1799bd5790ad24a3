// SPDX-License-Identifier: Apache-2.0
// Sums that every difference changes.
#include "table/iceberg/row_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace lakestream::table::iceberg {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

const std::vector<RowHeader> two_headers{{"a", bytes("1")}, {"b", std::nullopt}};

std::vector<Row> sample() {
    std::vector<Row> rows;
    for (int i = 0; i < 6; ++i) {
        rows.push_back({.partition = i % 2, .offset = 10 + i / 2, .timestamp_ms = 1000});
        rows.back().value = bytes("value");
    }
    rows[0].key = bytes("");
    rows[2].headers = two_headers;
    return rows;
}

RowSums sums(const std::vector<Row>& rows) {
    RowSums out;
    for (const Row& row : rows) {
        out.add(row);
    }
    return out;
}

template <class Change>
bool seen(Change change) {
    std::vector<Row> rows = sample();
    change(rows);
    return sums(rows).partitions() != sums(sample()).partitions();
}

TEST(RowSums, OrderDoesNotMatterAndPartsAddUp) {
    std::vector<Row> rows = sample();
    std::ranges::reverse(rows);
    EXPECT_EQ(sums(rows).partitions(), sums(sample()).partitions());
    RowSums parts = sums({rows[0], rows[1]});
    parts.add(sums({rows[2], rows[3], rows[4], rows[5]}));
    EXPECT_EQ(parts.partitions(), sums(sample()).partitions());
    const RowSum& zero = parts.partitions().at(0);
    EXPECT_EQ(zero.rows, 3);
    EXPECT_EQ(zero.first_offset, 10);
    EXPECT_EQ(zero.last_offset, 12);
}

TEST(RowSums, EveryDifferenceIsSeen) {
    EXPECT_FALSE(seen([](auto&) {}));
    EXPECT_TRUE(seen([](auto& rows) { rows.pop_back(); }));
    EXPECT_TRUE(seen([](auto& rows) { rows.push_back(rows.back()); }));
    EXPECT_TRUE(seen([](auto& rows) { std::swap(rows[0].key, rows[2].key); }));
    EXPECT_TRUE(seen([](auto& rows) { std::swap(rows[0].partition, rows[1].partition); }));
    EXPECT_TRUE(seen([](auto& rows) { rows[1].timestamp_ms++; }));
    EXPECT_TRUE(seen([](auto& rows) { rows[1].offset--; }));
    EXPECT_TRUE(seen([](auto& rows) { rows[0].key.reset(); }));  // null is not empty
    EXPECT_TRUE(seen([](auto& rows) { rows[1].key = bytes(""); }));
    EXPECT_TRUE(seen([](auto& rows) { rows[1].value.reset(); }));
    EXPECT_TRUE(seen([](auto& rows) { rows[1].value = bytes("Value"); }));
    EXPECT_TRUE(seen([](auto& rows) { rows[2].headers = {}; }));
    const std::vector<RowHeader> swapped{two_headers[1], two_headers[0]};
    EXPECT_TRUE(seen([&](auto& rows) { rows[2].headers = swapped; }));
    const std::vector<RowHeader> empty{{"a", bytes("1")}, {"b", bytes("")}};
    EXPECT_TRUE(seen([&](auto& rows) { rows[2].headers = empty; }));
    // What moves between key and value keeps the bytes but not the row.
    EXPECT_TRUE(seen([](auto& rows) {
        rows[1].key = bytes("va");
        rows[1].value = bytes("lue");
    }));
}

TEST(RowSums, TheCanonicalFormDoesNotDrift) {
    const RowSums found = sums(sample());
    const RowSum& zero = found.partitions().at(0);
    // Computed by another program (Python's xxhash).
    EXPECT_EQ(zero.high, 18334224549449775874U);
    EXPECT_EQ(zero.low, 15333729550400293550U);
}

}  // namespace
}  // namespace lakestream::table::iceberg
