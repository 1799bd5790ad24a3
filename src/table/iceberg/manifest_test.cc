// SPDX-License-Identifier: Apache-2.0
// Manifests of the Java library are read, ours round-trip.
#include "table/iceberg/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "codec/testing/golden.h"

namespace lakestream::table::iceberg {
namespace {

constexpr std::string_view folder = "iceberg/v2/metadata/";
constexpr std::string_view location = "mem://golden/db/orders/";

std::vector<ManifestInfo> golden_list(std::string_view name) {
    const auto rows = read_manifest_list(codec::golden_file(std::string(folder).append(name)));
    EXPECT_TRUE(rows.ok()) << rows.error().message;
    return *rows;
}

std::vector<ManifestEntry> read_all(Bytes file, const ManifestInfo& info) {
    auto reader = ManifestReader::open(std::move(file), info);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    std::vector<ManifestEntry> out;
    while (auto entry = *reader->next()) {
        out.push_back(*std::move(entry));
    }
    return out;
}

TEST(Manifest, JavasFilesAreRead) {
    const auto list =
        golden_list("snap-585915513864509197-1-b4d209d5-cef4-4f8d-a449-4414b6f04473.avro");
    ASSERT_EQ(list.size(), 3);
    std::int64_t rows = 0;
    std::vector<std::string> paths;
    for (const ManifestInfo& info : list) {
        EXPECT_EQ(info.content, 0);
        EXPECT_EQ(info.added_files, 1);
        const std::string name = info.path.substr(info.path.rfind('/') + 1);
        const Bytes file = codec::golden_file(std::string(folder) + name);
        EXPECT_EQ(std::cmp_equal(info.bytes, file.size()), true);
        for (const ManifestEntry& entry : read_all(file, info)) {
            EXPECT_EQ(entry.status, EntryStatus::added);
            EXPECT_EQ(entry.snapshot, info.added_snapshot);
            EXPECT_EQ(entry.sequence_number, info.sequence_number);  // inherited
            EXPECT_EQ(entry.file_sequence_number, info.sequence_number);
            rows += entry.file.records;
            paths.push_back(entry.file.path.substr(location.size()));
        }
    }
    EXPECT_EQ(rows, 8);
    std::ranges::sort(paths);
    EXPECT_EQ(
        paths,
        (std::vector<std::string>{
            "data/00000-first.parquet", "data/00001-second.parquet", "data/00002-third.parquet"
        })
    );
}

TEST(Manifest, JavasStatisticsAreRead) {
    const auto list =
        golden_list("snap-4832422597281532731-1-a3c6cadb-88c8-4c9d-acff-dfd005f8f94e.avro");
    ASSERT_EQ(list.size(), 1);
    const Bytes bytes =
        codec::golden_file("iceberg/v2/metadata/a3c6cadb-88c8-4c9d-acff-dfd005f8f94e-m0.avro");
    const TableFile file = read_all(bytes, list.front()).front().file;
    EXPECT_EQ(file.format, "PARQUET");
    EXPECT_EQ(file.bytes, 908);
    EXPECT_EQ(file.sort_order, 0);
    EXPECT_EQ(file.value_counts, (std::map<std::int32_t, std::int64_t>{{1, 3}, {2, 3}, {3, 3}}));
    EXPECT_EQ(file.null_counts, (std::map<std::int32_t, std::int64_t>{{1, 0}, {2, 0}, {3, 0}}));
    EXPECT_EQ(codec::to_hex(file.upper_bounds.at(1)), "0200000000000000");
    EXPECT_EQ(file.lower_bounds.at(2).view(), "n0");
    EXPECT_EQ(file.upper_bounds.at(3).view(), "k2");
    EXPECT_EQ(file.split_offsets, std::vector<std::int64_t>{4});
}

TableFile full_file() {
    DataFile file{.size_bytes = 1234, .rows = 17, .split_offsets = {4, 400}};
    file.columns[1] = {.size_bytes = 10, .value_count = 17, .lower = Bytes::copy("\1")};
    file.columns[5] = {.size_bytes = 20, .value_count = 17, .null_count = 3};
    file.columns[5].lower = Bytes();
    file.columns[5].upper = Bytes::copy(std::string(16, '\xff'));
    TableFile out = to_table_file(file, "data/x.parquet", 1);
    out.key_metadata = Bytes::copy("secret");
    out.nan_counts[3] = 2;
    out.equality_ids = {1, -1};
    out.referenced_data_file = "other";
    return out;
}

TEST(Manifest, OursRoundTrip) {
    EXPECT_EQ(full_file().lower_bounds.size(), 2);
    EXPECT_EQ(full_file().upper_bounds.size(), 1);
    ManifestWriter writer({.schema_json = "{}"}, 7, 5);
    const ManifestEntry added{.snapshot = 7, .file = full_file()};
    ManifestEntry existing{
        .status = EntryStatus::existing,
        .snapshot = 3,
        .sequence_number = 2,
        .file_sequence_number = 1,
        .file = {.path = "data/y.parquet", .records = 100, .bytes = 5}
    };
    ManifestEntry deleted = existing;
    deleted.status = EntryStatus::deleted;
    deleted.sequence_number = 1;
    for (const ManifestEntry& entry : {added, existing, deleted}) {
        writer.add(entry);
    }
    const auto finished = writer.finish("/t/metadata/m.avro");
    const ManifestInfo& info = finished.info;
    EXPECT_EQ(info.bytes, static_cast<std::int64_t>(finished.file.size()));
    EXPECT_EQ(info.added_files + info.existing_files + info.deleted_files, 3);
    EXPECT_EQ(info.added_rows, 17);
    EXPECT_EQ(info.existing_rows, 100);
    EXPECT_EQ(info.min_sequence_number, 2);  // what is deleted does not count

    const auto entries = read_all(finished.file, info);
    ASSERT_EQ(entries.size(), 3);
    ManifestEntry inherited = added;
    inherited.sequence_number = 5;
    inherited.file_sequence_number = 5;
    EXPECT_EQ(entries[0], inherited);
    EXPECT_EQ(entries[1], existing);
    EXPECT_EQ(entries[2], deleted);
}

TEST(Manifest, ListsRoundTripWithWhatOthersKnow) {
    auto rows = golden_list("snap-585915513864509197-1-b4d209d5-cef4-4f8d-a449-4414b6f04473.avro");
    rows[0].key_metadata = Bytes::copy("k");
    rows[1].content = 1;
    rows[1].spec = 4;
    rows[1].partitions = {
        {.contains_null = true, .contains_nan = false, .lower = Bytes::copy("a")}, {}
    };
    const Bytes file = write_manifest_list({.snapshot = 9, .sequence_number = 4}, rows);
    EXPECT_EQ(*read_manifest_list(file), rows);
    EXPECT_TRUE(read_manifest_list(file.slice(0, file.size() - 1)).is(ErrorCode::corrupt));
    EXPECT_TRUE(
        read_manifest_list(write_manifest_list({.snapshot = 9, .sequence_number = 4}, {}))->empty()
    );
}

TEST(Manifest, AListIsNoManifest) {
    const Bytes list = codec::golden_file(
        "iceberg/v2/metadata/snap-585915513864509197-1-b4d209d5-cef4-4f8d-a449-4414b6f04473.avro"
    );
    auto reader = ManifestReader::open(list, {});
    ASSERT_TRUE(reader.ok());
    EXPECT_TRUE(reader->next().is(ErrorCode::corrupt));
    EXPECT_TRUE(read_manifest_list(Bytes()).is(ErrorCode::corrupt));
}

}  // namespace
}  // namespace lakestream::table::iceberg
