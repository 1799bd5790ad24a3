// SPDX-License-Identifier: Apache-2.0
// WAL objects against golden bytes, both ways, and the reader's rules.
#include "wal/object_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/endian.h"
#include "codec/testing/golden.h"

namespace lakestream::wal {
namespace {

using codec::from_hex;
using codec::golden_dir;
using codec::golden_file;
using codec::golden_json;
using nlohmann::json;

/// The payload that a description promises; none when it gives only a digest.
std::optional<Bytes> payload_of(const json& entry) {
    if (entry.contains("payload_hex")) {
        return from_hex(entry.at("payload_hex").get<std::string>());
    }
    if (!entry.contains("entry")) {
        return std::nullopt;
    }
    const auto number = entry.at("entry").get<std::size_t>();
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < entry.at("payload_length"); ++i) {
        bytes.push_back(static_cast<std::byte>(31 * number + 7 * i + (number >> 8)));
    }
    return Bytes::own(std::move(bytes));
}

std::uint32_t length_of(const json& entry) {
    return entry.at("payload_length").get<std::uint32_t>();
}

/// Descriptions in a golden folder whose name begins with `legacy`, or all others.
std::vector<std::string> descriptions(const std::string& folder, bool legacy) {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(golden_dir() / folder)) {
        const std::string name = file.path().stem().string();
        if (file.path().extension() == ".json" && name != "reader-behaviour" &&
            name.starts_with("legacy") == legacy) {
            names.push_back(folder + "/" + name);
        }
    }
    return names;
}

/// Check one object against its description: what is read, and that building it again from the
/// entries in their append order gives the same bytes.
void check_object(const std::string& name) {
    SCOPED_TRACE(name);
    const json expected = golden_json(name + ".json");
    const Bytes object = golden_file(name + ".bin");
    const auto header = ObjectHeader::parse(object.span());
    ASSERT_TRUE(header.ok()) << header.error().to_string();
    EXPECT_EQ(header->payload_begin(), expected.at("payload_region_start"));

    ObjectBuilder builder;
    std::map<LogId, std::size_t> next;
    for (const json& entry : expected.at("entries_in_append_order")) {
        const LogId log(entry.at("stream_id").get<std::int64_t>());
        const Section* section = header->find(log);
        ASSERT_NE(section, nullptr) << log.v;
        const EntryPlace place = section->entries.at(next[log]++);
        EXPECT_EQ(place.length, length_of(entry));
        EXPECT_EQ(place.records, entry.at("record_count").get<std::int32_t>());
        const Bytes payload = object.slice(header->payload_begin() + place.offset, place.length);
        EXPECT_EQ(payload_of(entry).value_or(payload), payload);
        builder.add(log, payload, place.records);
    }
    EXPECT_EQ(header->sections().size(), next.size());
    const BuiltObject built = builder.finish();
    EXPECT_EQ(built.payload_bytes, expected.at("payload_region_length"));
    EXPECT_EQ(built.body.join(), object);
    EXPECT_TRUE(builder.empty());
}

TEST(ObjectFormat, golden_objects_both_ways) {
    std::size_t checked = 0;
    for (const char* folder : {"wal", "from-java/wal"}) {
        for (const std::string& name : descriptions(folder, false)) {
            check_object(name);
            ++checked;
        }
    }
    EXPECT_GE(checked, 18U);
}

/// The logs of an object that got one entry of each of `logs`, as its sections stand.
std::vector<std::int64_t> section_order(const std::vector<std::int64_t>& logs) {
    ObjectBuilder builder;
    for (const std::int64_t log : logs) {
        builder.add(LogId(log), {}, 1);
    }
    std::vector<std::int64_t> order;
    for (const Section& section : builder.finish().sections) {
        order.push_back(section.log.v);
    }
    return order;
}

// Expected orders come from java.util.HashMap of Java 17.
TEST(ObjectFormat, sections_stand_as_in_a_java_hash_map) {
    using Logs = std::vector<std::int64_t>;
    const Logs multiples_of_16 = {16, 32, 48, 64, 80, 96, 112};
    EXPECT_EQ(section_order(multiples_of_16), (Logs{112, 96, 80, 64, 48, 32, 16}));
    // The eighth log of one bucket doubles a small table.
    EXPECT_EQ(
        section_order({16, 32, 48, 64, 80, 96, 112, 128, 144}),
        (Logs{128, 96, 64, 32, 144, 112, 80, 48, 16})
    );
    EXPECT_EQ(
        section_order({32, 64, 96, 128, 160, 192, 224, 256, 288, 320}),
        (Logs{320, 256, 192, 128, 64, 288, 224, 160, 96, 32})
    );
    // More than three quarters in use double it at the next append, of whichever log.
    Logs logs = {0, 37, 13, 50, 26, 2, 39, 15, 52, 28, 4, 41, 17};
    EXPECT_EQ(section_order(logs), (Logs{0, 17, 2, 50, 4, 52, 37, 39, 41, 26, 28, 13, 15}));
    logs.push_back(0);
    EXPECT_EQ(section_order(logs), (Logs{0, 2, 4, 37, 39, 41, 13, 15, 17, 50, 52, 26, 28}));
}

TEST(ObjectFormat, payloads_are_shared_not_copied) {
    const Bytes payload = Bytes::copy("payload");
    ObjectBuilder builder;
    builder.add(LogId(1), payload, 1);
    EXPECT_EQ(builder.finish().body.parts().back().data(), payload.data());
}

TEST(ObjectFormat, reader_behaviour_of_the_reference) {
    const json cases = golden_json("from-java/wal/reader-behaviour.json");
    for (const json& expected : cases) {
        SCOPED_TRACE(expected.at("case").get<std::string>());
        const Bytes object = from_hex(expected.at("object_hex").get<std::string>());
        const auto header = ObjectHeader::parse(object.span());
        ASSERT_EQ(header.ok(), expected.at("index") == "read");
        if (!header.ok()) {
            EXPECT_EQ(header.code(), ErrorCode::corrupt);
            continue;
        }
        EXPECT_EQ(header->sections().size(), expected.at("streams").get<std::size_t>());
        const Section* section = header->find(LogId(expected.at("stream_id").get<std::int64_t>()));
        if (!expected.at("entries").is_array()) {
            EXPECT_EQ(section, nullptr);
            continue;
        }
        ASSERT_NE(section, nullptr);
        ASSERT_EQ(section->entries.size(), expected.at("entries").size());
        for (std::size_t i = 0; i < section->entries.size(); ++i) {
            const json& entry = expected.at("entries").at(i);
            const EntryPlace& place = section->entries[i];
            EXPECT_EQ(std::int64_t{place.offset}, entry.at("payload_offset").get<std::int64_t>());
            EXPECT_EQ(std::int64_t{place.length}, entry.at("payload_length").get<std::int64_t>());
            EXPECT_EQ(place.records, entry.at("record_count").get<std::int32_t>());
            const bool inside =
                header->payload_begin() + place.offset + place.length <= object.size();
            EXPECT_EQ(inside, entry.value("payload", "") != "rejected");
        }
    }
}

/// The place of an entry of the older layout, by its number in the object.
std::optional<EntryPlace> legacy_place(const ObjectHeader& header, LogId log, std::int64_t number) {
    const Section* section = header.find(log);
    if (section == nullptr) {
        return std::nullopt;
    }
    const auto at = std::ranges::find(section->legacy_numbers, number);
    return at == section->legacy_numbers.end()
               ? std::nullopt
               : std::optional(section->entries.at(
                     static_cast<std::size_t>(at - section->legacy_numbers.begin())
                 ));
}

TEST(ObjectFormat, legacy_objects_are_read) {
    std::vector<std::string> names = descriptions("wal-v0", false);
    std::ranges::copy(descriptions("from-java/wal", true), std::back_inserter(names));
    EXPECT_GE(names.size(), 3U);
    for (const std::string& name : names) {
        SCOPED_TRACE(name);
        const Bytes object = golden_file(name + ".bin");
        const auto header = ObjectHeader::parse(object.span());
        ASSERT_TRUE(header.ok()) << header.error().to_string();
        for (const json& entry : golden_json(name + ".json").at("entries_in_append_order")) {
            const LogId log(entry.at("stream_id").get<std::int64_t>());
            const auto place = legacy_place(*header, log, entry.at("entry_id"));
            ASSERT_TRUE(place.has_value()) << entry;
            ASSERT_EQ(place->length, length_of(entry));
            EXPECT_EQ(
                object.slice(header->payload_begin() + place->offset, place->length),
                payload_of(entry)
            );
        }
    }
}

TEST(ObjectFormat, legacy_rows_are_checked_and_a_cut_one_is_none) {
    const Bytes object = golden_file("wal-v0/two-streams.bin");
    std::vector<std::byte> bytes(object.begin(), object.begin() + 8 + 64 + 31);
    store_be<std::int64_t>(bytes.data(), 64 + 31);
    const auto cut = ObjectHeader::parse(bytes);
    ASSERT_TRUE(cut.ok());
    EXPECT_EQ(cut->sections().size(), 2U);
    EXPECT_EQ(cut->sections().at(0).entries.size() + cut->sections().at(1).entries.size(), 2U);
    store_be<std::int64_t>(bytes.data() + 8 + 16, -1);  // the first row's offset
    EXPECT_EQ(ObjectHeader::parse(bytes).code(), ErrorCode::corrupt);
}

TEST(ObjectFormat, every_cut_of_an_index_block_is_refused) {
    const Bytes object = golden_file("wal/many-streams.bin");
    const auto needed = header_bytes_needed(object.span());
    ASSERT_TRUE(needed.ok());
    for (std::size_t size = 0; size < *needed; ++size) {
        EXPECT_FALSE(ObjectHeader::parse(object.span().first(size)).ok()) << size;
    }
}

TEST(ObjectFormat, an_index_block_out_of_range_is_refused) {
    for (const char* hex : {"0000000300000003", "ffffffff00000003", "1000000000000003"}) {
        EXPECT_EQ(header_bytes_needed(from_hex(hex).span()).code(), ErrorCode::corrupt) << hex;
    }
}

}  // namespace
}  // namespace lakestream::wal
