// SPDX-License-Identifier: Apache-2.0
// The file index against what Java writes and finds.
#include "table/compacted_file_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "codec/testing/golden.h"

namespace lakestream::table {
namespace {

TEST(CompactedFileIndex, IsWhatJavaWritesAndFindsWhatJavaFinds) {
    for (const auto& sample : codec::golden_json("from-java/compacted/file-index.json")) {
        SCOPED_TRACE(sample["name"].get<std::string>());
        const std::string text = sample["base64"];
        const auto decoded = CompactedFileIndex::decode(text);
        ASSERT_TRUE(decoded.ok()) << decoded.error().message;
        CompactedFileIndex built;
        std::set<std::int64_t> ends;
        for (const auto& file : sample["files"]) {
            built.add(Offset(file["last_offset"].get<std::int64_t>()), file["path"]);
            ends.insert(file["last_offset"].get<std::int64_t>());
        }
        EXPECT_EQ(*decoded, built);
        const bool damaged = !sample.contains("lookups");
        if (!damaged && ends.size() == sample["files"].size()) {
            EXPECT_EQ(built.encode(), text);
        }
        for (const auto& lookup : damaged ? nlohmann::json::array() : sample["lookups"]) {
            const auto found = decoded->find(Offset(lookup["offset"].get<std::int64_t>()));
            if (lookup.contains("error")) {
                EXPECT_TRUE(found.is(ErrorCode::out_of_range)) << lookup;
            } else {
                EXPECT_EQ(found.value(), lookup["path"].get<std::string>()) << lookup;
            }
        }
    }
}

TEST(CompactedFileIndex, WhatIsNotBase64IsRefused) {
    EXPECT_TRUE(CompactedFileIndex::decode("AAAA*").is(ErrorCode::corrupt));
}

}  // namespace
}  // namespace lakestream::table
