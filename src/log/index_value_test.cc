// SPDX-License-Identifier: Apache-2.0
// What an index record says of a section.
#include "log/index_value.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/crc32c.h"

namespace lakestream::log {
namespace {

PendingEntry entry(const std::string& payload, std::optional<std::size_t> checked_from) {
    PendingEntry made{.request = {}, .call = {}, .received = {}, .arrived = {}, .memory = {}};
    made.request.payload = Bytes::copy(payload);
    made.request.records = 1;
    if (checked_from.has_value()) {
        const auto rest = made.request.payload.span().subspan(*checked_from);
        made.request.checked = CheckedBytes{*checked_from, codec::crc32c(rest)};
    }
    return made;
}

TEST(IndexValue, checksum_is_of_all_payload_whoever_computed_parts_of_it) {
    const std::string first(100'000, 'a');
    const std::string second = "some text";
    const std::string third(777, 'b');
    Section section;
    section.entries.push_back(entry(first, 21));
    section.entries.push_back(entry(second, std::nullopt));
    section.entries.push_back(entry(third, 0));
    section.entries.push_back(entry(second, second.size()));
    const std::string all = first + second + third + second;
    const auto record = to_index_record(section, {});
    EXPECT_EQ(record.extension->crc32c, codec::crc32c(std::as_bytes(std::span(all))));
}

}  // namespace
}  // namespace lakestream::log
