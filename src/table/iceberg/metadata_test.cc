// SPDX-License-Identifier: Apache-2.0
// Table metadata of other writers survives us, and ours says what it should.
#include "table/iceberg/metadata.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "codec/testing/golden.h"

namespace lakestream::table::iceberg {
namespace {

using Json = nlohmann::json;

std::vector<std::string> golden_metadata() {
    std::vector<std::string> out;
    for (const char* const version : {"v2", "v3"}) {
        const std::string folder = std::string("iceberg/") + version + "/metadata";
        for (const auto& file : std::filesystem::directory_iterator(codec::golden_dir() / folder)) {
            if (file.path().extension() == ".json") {
                out.push_back(folder + "/" + file.path().filename().string());
            }
        }
    }
    return out;
}

TEST(Metadata, OtherWritersTablesRoundTrip) {
    const auto files = golden_metadata();
    ASSERT_EQ(files.size(), 10);
    for (const std::string& file : files) {
        const Bytes text = codec::golden_file(file);
        const auto metadata = parse_metadata(text.view());
        ASSERT_TRUE(metadata.ok()) << file << metadata.error().message;
        EXPECT_EQ(Json::parse(to_json(*metadata)), Json::parse(text.view())) << file;
        EXPECT_EQ(*parse_metadata(to_json(*metadata)), *metadata) << file;
    }
}

TEST(Metadata, TheGoldenTableIsUnderstood) {
    const auto text = codec::golden_file(
        "iceberg/v2/metadata/00004-366a0688-1b3d-421d-bca6-ab1788ca1315.metadata.json"
    );
    const TableMetadata metadata = *parse_metadata(text.view());
    EXPECT_EQ(metadata.uuid, "f881310f-8657-435b-bb4e-bb1c58e8d9f5");
    EXPECT_EQ(metadata.last_sequence_number, 3);
    EXPECT_EQ(metadata.snapshots.size(), 3);
    const Snapshot* const main = metadata.find_snapshot(*metadata.current_snapshot);
    ASSERT_NE(main, nullptr);
    EXPECT_EQ(main->summary.at("total-records"), "8");
    EXPECT_EQ(main->parent, 4272465117036187720);
    EXPECT_EQ(metadata.find_snapshot(1), nullptr);
    EXPECT_EQ(*why_rows_do_not_fit(metadata), "the type of column 1 was changed");
}

TEST(Metadata, WhatIsMissingOrWrongIsNamed) {
    const Json good = Json::parse(to_json(new_topic_table({.uuid = "u", .location = "/t"})));
    ASSERT_TRUE(parse_metadata(good.dump()).ok());
    for (const char* const name :
         {"table-uuid", "location", "last-sequence-number", "current-schema-id"}) {
        Json bad = good;
        bad.erase(name);
        const auto parsed = parse_metadata(bad.dump());
        ASSERT_TRUE(parsed.is(ErrorCode::corrupt)) << name;
        EXPECT_NE(parsed.error().message.find(name), std::string::npos);
    }
    const std::pair<const char*, Json> wrong[] = {
        {"schemas", 7},
        {"refs", Json::array()},
        {"refs", {{"main", {{"snapshot-id", "1"}, {"type", "branch"}}}}},
        {"snapshots", {{{"snapshot-id", 1}}}},
        {"properties", {{"a", 1}}},
        {"last-column-id", 1L << 40},
        {"last-updated-ms", 1.5},
        {"last-sequence-number", 9223372036854775807L},
        {"current-snapshot-id", 18446744073709551615U},
    };
    for (const auto& [name, value] : wrong) {
        Json bad = good;
        bad[name] = value;
        EXPECT_TRUE(parse_metadata(bad.dump()).is(ErrorCode::corrupt)) << name << value;
    }
    Json old = good;
    old["format-version"] = 1;
    EXPECT_TRUE(parse_metadata(old.dump()).is(ErrorCode::unsupported));
    EXPECT_TRUE(parse_metadata(std::string(100'000, '[')).is(ErrorCode::corrupt));
}

/// The metadata with its current schema changed.
template <class Change>
std::string misfit_after(Change change) {
    TableMetadata metadata = new_topic_table({.uuid = "u", .location = "/t"});
    Json schema = Json::parse(metadata.schemas.front().json);
    change(schema["fields"]);
    metadata.schemas.front().json = schema.dump();
    return *why_rows_do_not_fit(metadata);
}

TEST(Metadata, RowsFitWhatTheyAreWrittenFor) {
    EXPECT_EQ(misfit_after([](Json&) {}), "");
    EXPECT_EQ(misfit_after([](Json& fields) { fields[4]["name"] = "payload"; }), "");
    const auto add = [](bool required) {
        return [required](Json& fields) {
            fields.push_back({{"id", 10}, {"name", "x"}, {"required", required}, {"type", "int"}});
        };
    };
    EXPECT_EQ(misfit_after(add(false)), "");
    EXPECT_EQ(misfit_after(add(true)), "column 10 was added as required");
    EXPECT_EQ(misfit_after([](Json& fields) { fields.erase(3); }), "column 4 was dropped");
    EXPECT_EQ(
        misfit_after([](Json& fields) { fields[0]["type"] = "long"; }),
        "the type of column 1 was changed"
    );

    TableMetadata metadata = new_topic_table({.uuid = "u", .location = "/t"});
    metadata.specs.push_back(
        {1,
         R"({"spec-id":1,"fields":[{"source-id":3,"field-id":1000,"transform":"day","name":"d"}]})"}
    );
    metadata.default_spec = 1;
    EXPECT_EQ(*why_rows_do_not_fit(metadata), "it is partitioned now");
    metadata.format_version = 3;
    EXPECT_EQ(*why_rows_do_not_fit(metadata), "its format version is 3");
}

/// Snapshots 1 … count, one a second, each the parent of the next.
TableMetadata with_snapshots(std::int64_t count) {
    TableMetadata metadata = new_topic_table({.uuid = "u", .location = "/t"});
    for (std::int64_t id = 1; id <= count; ++id) {
        Snapshot snapshot{.id = id, .sequence_number = id, .timestamp_ms = id * 1000};
        if (id > 1) {
            snapshot.parent = id - 1;
        }
        add_snapshot(metadata, std::move(snapshot));
    }
    return metadata;
}

std::vector<std::int64_t> ids(const TableMetadata& metadata) {
    std::vector<std::int64_t> out;
    for (const Snapshot& snapshot : metadata.snapshots) {
        out.push_back(snapshot.id);
    }
    return out;
}

TEST(Metadata, ExpiryKeepsWhatRefsNeed) {
    TableMetadata metadata = with_snapshots(10);
    metadata.refs["old"] = {.snapshot = 2, .type = "tag"};
    metadata.refs["side"] = {
        .snapshot = 5, .type = "branch", .other = R"({"min-snapshots-to-keep":2})"
    };
    EXPECT_EQ(expire_snapshots(metadata, {.age_ms_max = 60'000, .count_max = 10}), 0);
    EXPECT_EQ(expire_snapshots(metadata, {.age_ms_max = 60'000, .count_max = 7}), 2);
    EXPECT_EQ(ids(metadata), (std::vector<std::int64_t>{2, 4, 5, 6, 7, 8, 9, 10}));
    EXPECT_EQ(metadata.snapshot_log.front().snapshot, 4);  // no holes behind 3
    EXPECT_EQ(expire_snapshots(metadata, {.age_ms_max = 1000, .count_max = 100}), 3);
    EXPECT_EQ(ids(metadata), (std::vector<std::int64_t>{2, 4, 5, 9, 10}));
    EXPECT_EQ(metadata.snapshot_log.front().snapshot, 9);
    EXPECT_EQ(expire_snapshots(metadata, {.age_ms_max = 0, .count_max = 0}), 1);
    EXPECT_EQ(ids(metadata), (std::vector<std::int64_t>{2, 4, 5, 10}));
}

TEST(Metadata, RetentionIsTheTablesOwnWishFirst) {
    TableMetadata metadata = with_snapshots(1);
    const Retention fallback{.age_ms_max = 5, .count_max = 6};
    EXPECT_EQ(retention_of(metadata, fallback).age_ms_max, 5);
    metadata.properties["history.expire.max-snapshot-age-ms"] = "100";
    metadata.properties["lakestream.snapshots-max"] = "none";
    EXPECT_EQ(retention_of(metadata, fallback).age_ms_max, 100);
    EXPECT_EQ(retention_of(metadata, fallback).count_max, 6);
}

TEST(Metadata, TheLogOfVersionsIsBounded) {
    TableMetadata metadata = with_snapshots(1);
    for (int i = 0; i < 150; ++i) {
        log_previous_version(metadata, "v" + std::to_string(i));
    }
    EXPECT_EQ(metadata.metadata_log.size(), 100);
    EXPECT_EQ(metadata.metadata_log.back().file, "v149");
    metadata.properties["write.metadata.previous-versions-max"] = "2";
    log_previous_version(metadata, "last");
    EXPECT_EQ(metadata.metadata_log.size(), 2);
}

}  // namespace
}  // namespace lakestream::table::iceberg
