// SPDX-License-Identifier: Apache-2.0
// WAL objects against golden bytes, both ways, and the reader's rules.
#include "wal/object_format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "wal/object_name.h"

namespace lakestream::wal {
namespace {

using nlohmann::json;

std::filesystem::path golden(std::string_view folder) {
    const char* root = std::getenv("LKS_GOLDEN_DIR");
    return std::filesystem::path(root != nullptr ? root : LKS_SOURCE_DIR "/tests/golden") / folder;
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

/// Check one object against its description: what is read, and that building it again from the
/// entries in their append order gives the same bytes.
void check_object(const std::filesystem::path& description) {
    const json expected = json::parse(read_file(description));
    auto object_file = description;
    const Bytes object = Bytes::own(read_file(object_file.replace_extension(".bin")));
    SCOPED_TRACE(description.string());
    const auto header = ObjectHeader::parse(object.span());
    ASSERT_TRUE(header.ok()) << header.error().to_string();

    ObjectBuilder builder;
    std::map<std::int64_t, std::size_t> next;
    for (const json& entry : expected.at("entries_in_append_order")) {
        const LogId log(entry.at("stream_id").get<std::int64_t>());
        const Section* section = header->find(log);
        ASSERT_NE(section, nullptr) << log.v;
        const EntryPlace place = section->entries.at(next[log.v]++);
        const auto length =
            entry.contains("payload_length") ? entry.at("payload_length") : entry.at("length");
        const auto records =
            entry.contains("record_count") ? entry.at("record_count") : entry.at("records");
        EXPECT_EQ(place.length, length.get<std::uint32_t>());
        EXPECT_EQ(place.records, records.get<std::int32_t>());
        builder.add(
            log, object.slice(header->payload_begin() + place.offset, place.length), place.records
        );
    }
    EXPECT_EQ(builder.finish().body.join(), object);
}

TEST(ObjectFormat, golden_objects_both_ways) {
    std::size_t checked = 0;
    for (const char* folder : {"wal", "from-java/wal"}) {
        for (const auto& file : std::filesystem::directory_iterator(golden(folder))) {
            const std::string name = file.path().filename().string();
            if (name.ends_with(".json") && name != "reader-behaviour.json" &&
                !name.starts_with("legacy")) {
                check_object(file.path());
                ++checked;
            }
        }
    }
    EXPECT_GE(checked, 18U);
}

TEST(ObjectFormat, reader_behaviour_of_the_reference) {
    const json cases = json::parse(read_file(golden("from-java/wal/reader-behaviour.json")));
    for (const json& expected : cases) {
        SCOPED_TRACE(expected.at("case").get<std::string>());
        const Bytes object = Bytes::own(from_hex(expected.at("object_hex")));
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

TEST(ObjectFormat, legacy_objects_are_read) {
    for (const char* folder : {"wal-v0", "from-java/wal"}) {
        for (const auto& file : std::filesystem::directory_iterator(golden(folder))) {
            const std::string name = file.path().filename().string();
            if (!name.ends_with(".bin") ||
                (std::string(folder) != "wal-v0" && !name.starts_with("legacy"))) {
                continue;
            }
            SCOPED_TRACE(name);
            const Bytes object = Bytes::own(read_file(file.path()));
            const auto header = ObjectHeader::parse(object.span());
            ASSERT_TRUE(header.ok()) << header.error().to_string();
            EXPECT_FALSE(header->sections().empty());
            std::uint64_t bytes = 0;
            for (const Section& section : header->sections()) {
                for (const EntryPlace& place : section.entries) {
                    bytes += place.length;
                }
            }
            EXPECT_EQ(header->payload_begin() + bytes, object.size());
        }
    }
}

TEST(ObjectFormat, every_cut_of_an_index_block_is_refused) {
    const Bytes object = Bytes::own(read_file(golden("wal/many-streams.bin")));
    const auto needed = header_bytes_needed(object.span());
    ASSERT_TRUE(needed.ok());
    for (std::size_t size = 0; size < *needed; ++size) {
        EXPECT_FALSE(ObjectHeader::parse(object.span().first(size)).ok()) << size;
    }
}

TEST(ObjectName, carries_its_date) {
    std::array<std::byte, 16> random{};
    random.fill(std::byte{0xff});
    const WallTime date = wall_from_ms(1'782'909'296'789);
    const std::string name = make_object_name(date, random);
    EXPECT_EQ(name, "2026/07/01/12/34/56/ffffffff-ffff-4fff-bfff-ffffffffffff");
    EXPECT_EQ(object_date(name), wall_from_ms(1'782'909'296'000));
    for (const char* other :
         {"",
          "x",
          "2026/07/01/12/34/uuid",
          "2026/13/01/12/34/56/u",
          "2026/07/01/24/34/56/u",
          "2026/02/30/12/34/56/u",
          "2026/07/01/12/34/56/",
          "26/07/01/12/34/56/u"}) {
        EXPECT_EQ(object_date(other), std::nullopt) << other;
    }
}

}  // namespace
}  // namespace lakestream::wal
