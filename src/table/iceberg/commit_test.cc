// SPDX-License-Identifier: Apache-2.0
// What may be appended, and what a commit writes.
#include "table/iceberg/commit.h"

#include <gtest/gtest.h>

#include <string>

namespace lakestream::table::iceberg {
namespace {

constexpr LogId a(1);
constexpr LogId b(2);
const Source source{.table = "u", .stream = "s"};

/// The next version, of a commit that is expected to work.
Commit commit(CommitBase base, const Position& position, std::vector<TableFile> added) {
    const std::int64_t id = base.metadata.last_sequence_number + 1;
    const CommitIds ids{.snapshot = id, .commit = "commit-" + std::to_string(id)};
    auto made = build_commit(std::move(base), position, added, ids, 1000 * id);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *std::move(made);
}

Position at(std::map<LogId, Offset> next) {
    return {.table = "u", .stream = "s", .next = std::move(next)};
}

TableMetadata table_at(const Position& position) {
    CommitBase base{.metadata = new_topic_table({.uuid = "u", .location = "/t"})};
    return commit(std::move(base), position, {}).metadata;
}

PreparedFile file(std::map<LogId, OffsetRange> ranges) {
    std::int64_t rows = 0;
    for (const auto& [log, range] : ranges) {
        rows += range.count();
    }
    return {
        .ranges = std::move(ranges),
        .file = TableFile{.path = "data/f", .records = rows, .bytes = 100}
    };
}

OffsetRange range(std::int64_t begin, std::int64_t end) {
    return {Offset(begin), Offset(end)};
}

TEST(Position, RoundTripsAndRefusesNonsense) {
    const Position position = at({{a, Offset(7)}, {LogId(1L << 40), Offset(1L << 50)}});
    EXPECT_EQ(
        to_json(position),
        R"({"table":"u","stream":"s","next":{"1":7,"1099511627776":1125899906842624}})"
    );
    EXPECT_EQ(*parse_position(to_json(position)), position);
    EXPECT_EQ(position.of(b), Offset(0));
    for (const char* const bad : {
             "",
             "[]",
             R"({"table":"u","stream":"s"})",
             R"({"table":"u","next":{}})",
             R"({"table":"u","stream":"s","next":{"x":1}})",
             R"({"table":"u","stream":"s","next":{"1 ":1}})",
             R"({"table":"u","stream":"s","next":{"-1":1}})",
             R"({"table":"u","stream":"s","next":{"1":-1}})",
             R"({"table":"u","stream":"s","next":{"1":"1"}})",
         }) {
        EXPECT_TRUE(parse_position(bad).is(ErrorCode::corrupt)) << bad;
    }
}

TEST(Plan, FilesChainFromThePosition) {
    const TableMetadata table = table_at(at({{a, Offset(10)}}));
    const std::vector<PreparedFile> files{
        file({{a, range(0, 10)}}),  // there already
        file({{a, range(10, 20)}, {b, range(0, 5)}}),
        file({{a, range(20, 21)}}),
        file({{b, range(5, 9)}}),
    };
    const AppendPlan plan = plan_append(table, source, files);
    EXPECT_EQ(plan.verdict, Verdict::append) << plan.reason;
    EXPECT_EQ(plan.files, (std::vector<std::size_t>{1, 2, 3}));
    EXPECT_EQ(plan.position, at({{a, Offset(21)}, {b, Offset(9)}}));

    const TableMetadata after = table_at(plan.position);
    const AppendPlan again = plan_append(after, source, files);
    EXPECT_EQ(again.verdict, Verdict::nothing_new);
    EXPECT_EQ(again.position, plan.position);
}

TEST(Plan, WhatDoesNotBeginAtThePositionIsPreparedAgain) {
    const TableMetadata table = table_at(at({{a, Offset(10)}, {b, Offset(3)}}));
    const std::vector<std::vector<PreparedFile>> misaligned{
        {file({{a, range(9, 20)}})},                    // reaches over it
        {file({{a, range(11, 20)}})},                   // a gap
        {file({{a, range(0, 10)}, {b, range(3, 5)}})},  // half of it is there
        {file({{a, range(10, 12)}}), file({{a, range(13, 20)}})},
        {file({{a, range(10, 12)}}), file({{a, range(11, 20)}})},
        {file({{a, range(12, 12)}})},
        {file({{LogId(9), range(1, 2)}})},  // a new log begins at 0
    };
    for (const auto& files : misaligned) {
        const AppendPlan plan = plan_append(table, source, files);
        EXPECT_EQ(plan.verdict, Verdict::misaligned);
        EXPECT_TRUE(plan.files.empty());
        EXPECT_EQ(plan.position, at({{a, Offset(10)}, {b, Offset(3)}}));
    }
    const std::vector<PreparedFile> gap{file({{a, range(11, 20)}})};
    EXPECT_EQ(
        plan_append(table, source, gap).reason,
        "log 1: the file holds [11, 20), the table goes on at 10"
    );
}

TEST(Plan, AForeignTableIsLeftAlone) {
    const TableMetadata good = table_at(at({}));
    const std::vector<PreparedFile> files{file({{a, range(0, 1)}})};
    const auto reason = [&](const TableMetadata& table, const Source& by) {
        const AppendPlan plan = plan_append(table, by, files);
        EXPECT_EQ(plan.verdict, Verdict::suspended);
        return plan.reason;
    };
    EXPECT_EQ(plan_append(good, source, files).verdict, Verdict::append);
    EXPECT_EQ(plan_append(good, {.table = "", .stream = "s"}, files).verdict, Verdict::append);
    EXPECT_EQ(reason(good, {.table = "v", .stream = "s"}), "it is table u now, not v");
    EXPECT_EQ(
        reason(good, {.table = "u", .stream = "r"}),
        "it belongs to an earlier topic of this name (stream s, now r)"
    );

    TableMetadata table = good;
    table.uuid = "v";  // copied to a table of its own
    EXPECT_EQ(reason(table, {.table = "", .stream = "s"}), "its position was made for table u");
    table = good;
    table.refs.erase("lakestream");
    EXPECT_EQ(reason(table, source), "its tag 'lakestream' is gone");
    table = good;
    table.refs["lakestream"].snapshot = 77;
    EXPECT_EQ(reason(table, source), "the snapshot of its tag 'lakestream' is gone");
    table = good;
    table.snapshots.back().summary.erase("lakestream.position");
    EXPECT_EQ(reason(table, source), "snapshot 1 has no position of ours");
    table = good;
    table.snapshots.back().summary["lakestream.position"] = "{}";
    EXPECT_EQ(reason(table, source), "field table is no text");
    table = good;
    table.format_version = 3;
    EXPECT_EQ(reason(table, source), "its format version is 3");
}

TEST(Plan, RollingBackMainDoesNotMoveThePosition) {
    const Position first = at({{a, Offset(5)}});
    const TableMetadata one = table_at(first);
    Commit two = commit({.metadata = one}, at({{a, Offset(9)}}), {});
    two.metadata.current_snapshot = one.current_snapshot;
    two.metadata.refs["main"] = one.refs.at("main");
    const std::vector<PreparedFile> files{file({{a, range(9, 10)}})};
    EXPECT_EQ(plan_append(two.metadata, source, files).verdict, Verdict::append);
    const Commit three = commit({.metadata = two.metadata}, at({{a, Offset(10)}}), {});
    EXPECT_EQ(three.metadata.snapshots.back().parent, one.current_snapshot);
}

TEST(Plan, ATagMovedBackDoesNotAppendRowsTwice) {
    const std::vector<PreparedFile> files{file({{a, range(5, 9)}})};
    const auto plan = [&](const TableMetadata& table) { return plan_append(table, source, files); };
    const TableMetadata one = table_at(at({{a, Offset(5)}}));
    TableMetadata two = commit({.metadata = one}, at({{a, Offset(9)}}), {}).metadata;
    EXPECT_EQ(plan(two).verdict, Verdict::nothing_new);
    two.refs["lakestream"].snapshot = 1;
    EXPECT_EQ(plan(two).verdict, Verdict::suspended);
    EXPECT_EQ(
        plan(two).reason,
        "its tag 'lakestream' was moved to snapshot 1: snapshot 2 of main has log 1 up to 9, not 5"
    );

    TableMetadata foreign = two;  // another engine's commit on top hides nothing
    foreign.snapshots.push_back({.id = 77, .parent = 2});
    foreign.current_snapshot = 77;
    EXPECT_EQ(plan(foreign).verdict, Verdict::suspended);
    foreign.refs["lakestream"].snapshot = 2;
    EXPECT_EQ(plan(foreign).verdict, Verdict::nothing_new);
    foreign.snapshots.back().parent = 76;  // expired: nothing is known
    foreign.refs["lakestream"].snapshot = 1;
    EXPECT_EQ(plan(foreign).verdict, Verdict::append);

    TableMetadata ring = two;
    ring.refs["lakestream"].snapshot = 2;
    ring.snapshots[0].parent = 1;
    ring.current_snapshot = 1;
    EXPECT_EQ(plan(ring).verdict, Verdict::nothing_new);
    TableMetadata damaged = two;
    damaged.snapshots[1].summary["lakestream.position"] = "{}";
    EXPECT_EQ(plan(damaged).verdict, Verdict::suspended);
}

TEST(Plan, ATakeOverEndsASuspensionAndCannotBeRolledBack) {
    const TableMetadata one = table_at(at({{a, Offset(5)}}));
    TableMetadata two = commit({.metadata = one}, at({{a, Offset(9)}}), {}).metadata;
    EXPECT_EQ(plan_take_over(two, "s").verdict, Verdict::nothing_new);
    two.refs["lakestream"].snapshot = 1;
    const AppendPlan over = plan_take_over(two, "s");
    ASSERT_EQ(over.verdict, Verdict::append);
    EXPECT_EQ(over.position.of(a), Offset(0));
    CommitBase base{.metadata = two, .rows = over.rows};
    TableMetadata three = commit(std::move(base), over.position, {}).metadata;
    const std::vector<PreparedFile> files{file({{a, range(0, 5)}})};
    EXPECT_EQ(plan_append(three, source, files).verdict, Verdict::append);
    three.current_snapshot = 2;  // its rows would come again
    EXPECT_EQ(plan_append(three, source, files).verdict, Verdict::suspended);
}

/// Manifests of the version, as the next commit's base would have them.
std::vector<ManifestInfo> manifests_of(const Commit& made) {
    return *read_manifest_list(made.files.back().body);
}

TEST(Commit, SaysEverythingInOneSnapshot) {
    const TableMetadata empty = table_at(at({}));
    CommitBase base{.metadata = empty, .metadata_file = "/t/metadata/v1.metadata.json"};
    const TableFile one{.path = "data/x.parquet", .records = 7, .bytes = 70};
    const TableFile two{.path = "data/y.parquet", .records = 5, .bytes = 50};
    const Commit made = commit(std::move(base), at({{a, Offset(12)}}), {one, two});

    const TableMetadata& next = made.metadata;
    EXPECT_EQ(next.last_sequence_number, 2);
    EXPECT_EQ(next.refs.at("main").snapshot, 2);
    EXPECT_EQ(next.refs.at("lakestream").snapshot, 2);
    EXPECT_EQ(next.metadata_log.back().file, "/t/metadata/v1.metadata.json");
    EXPECT_EQ(next.metadata_log.back().timestamp_ms, empty.last_updated_ms);
    EXPECT_EQ(*position_of(next), at({{a, Offset(12)}}));
    EXPECT_EQ(next.properties.at("lakestream.position"), to_json(at({{a, Offset(12)}})));
    const Snapshot& snapshot = next.snapshots.back();
    EXPECT_EQ(snapshot.parent, 1);
    EXPECT_EQ(snapshot.manifest_list, "/t/metadata/snap-2-1-commit-2.avro");
    const std::pair<const char*, const char*> summary[] = {
        {"operation", "append"},
        {"added-data-files", "2"},
        {"added-records", "12"},
        {"added-files-size", "120"},
        {"total-data-files", "2"},
        {"total-records", "12"},
        {"total-files-size", "120"},
        {"total-delete-files", "0"},
        {"changed-partition-count", "1"},
        {"lakestream.commit-id", "commit-2"},
    };
    for (const auto& [name, value] : summary) {
        EXPECT_EQ(snapshot.summary.at(name), value) << name;
    }

    ASSERT_EQ(made.files.size(), 2);
    EXPECT_EQ(made.files[0].name, "metadata/commit-2-m0.avro");
    const auto list = manifests_of(made);
    ASSERT_EQ(list.size(), 1);
    EXPECT_EQ(list[0].path, "/t/metadata/commit-2-m0.avro");
    EXPECT_EQ(list[0].added_rows, 12);
    auto reader = *ManifestReader::open(made.files[0].body, list[0]);
    EXPECT_EQ((*reader.next())->file.path, "/t/data/x.parquet");
}

TEST(Commit, TotalsThatTheParentDoesNotKnowStayUnknown) {
    TableMetadata table = table_at(at({}));
    table.snapshots.back().summary.erase("total-records");
    table.snapshots.back().summary["total-data-files"] = "many";
    table.snapshots.back().summary["total-delete-files"] = "9223372036854775807";
    const Commit made = commit({.metadata = table}, at({}), {{.path = "data/x", .records = 7}});
    const Properties& summary = made.metadata.snapshots.back().summary;
    EXPECT_FALSE(summary.contains("total-records"));
    EXPECT_FALSE(summary.contains("total-data-files"));
    EXPECT_FALSE(summary.contains("total-delete-files"));
    EXPECT_TRUE(summary.contains("total-files-size"));
}

TEST(Commit, TimeNeverGoesBack) {
    TableMetadata table = table_at(at({}));
    table.last_updated_ms = 1L << 50;
    const Commit made = commit({.metadata = table}, at({}), {});
    EXPECT_EQ(made.metadata.snapshots.back().timestamp_ms, 1L << 50);
    EXPECT_EQ(made.metadata.last_updated_ms, 1L << 50);
}

TEST(Merge, AHundredSmallManifestsBecomeOne) {
    std::map<std::string, Bytes> stored;
    CommitBase base{.metadata = table_at(at({}))};
    std::size_t most = 0;
    for (int i = 0; i < 250; ++i) {
        for (const std::size_t place : manifests_to_merge(base.manifests, 0)) {
            base.to_merge.push_back(stored.at(base.manifests[place].path));
        }
        const std::string path = "data/" + std::to_string(i);
        Commit made = commit(std::move(base), at({}), {{.path = path, .records = 1}});
        for (CommitFile& written : made.files) {
            stored["/t/" + written.name] = std::move(written.body);
        }
        base = {.metadata = std::move(made.metadata)};
        base.manifests =
            *read_manifest_list(stored.at(base.metadata.snapshots.back().manifest_list));
        most = std::max(most, base.manifests.size());
    }
    EXPECT_EQ(most, 100);
    std::map<std::string, int> live;
    std::int64_t rows = 0;
    for (const ManifestInfo& info : base.manifests) {
        rows += info.added_rows + info.existing_rows;
        auto reader = *ManifestReader::open(stored.at(info.path), info);
        while (const auto entry = *reader.next()) {
            ++live[entry->file.path];
            // Each keeps the number of the snapshot that added it: 1 is the empty table.
            const auto number = 2 + std::stoll(entry->file.path.substr(8));
            EXPECT_EQ(entry->sequence_number, number);
            EXPECT_EQ(entry->snapshot, number);
            EXPECT_GE(*entry->sequence_number, info.min_sequence_number);
        }
    }
    EXPECT_EQ(rows, 250);
    EXPECT_EQ(live.size(), 250);
}

TEST(Merge, LeavesLargeForeignAndDeleteManifestsAlone) {
    std::vector<ManifestInfo> manifests(150, {.bytes = 7000});
    EXPECT_EQ(manifests_to_merge(manifests, 0).size(), 150);
    EXPECT_TRUE(manifests_to_merge(manifests, 1).empty());
    for (std::size_t i = 0; i < 40; ++i) {
        manifests[i].content = 1;
    }
    EXPECT_EQ(manifests_to_merge(manifests, 0).size(), 110);
    EXPECT_EQ(manifests_to_merge(manifests, 0).front(), 40);
    for (std::size_t i = 40; i < 50; ++i) {
        manifests[i].bytes = 8L << 20;
    }
    EXPECT_EQ(manifests_to_merge(manifests, 0).size(), 100);
    manifests[50].key_metadata = Bytes::copy("k");
    EXPECT_TRUE(manifests_to_merge(manifests, 0).empty());

    // Up to the target, and one more.
    const std::vector<ManifestInfo> large(120, {.bytes = 3L << 20});
    EXPECT_EQ(manifests_to_merge(large, 0).size(), 3);
}

TEST(Merge, ADamagedManifestFailsTheCommit) {
    CommitBase base{.metadata = table_at(at({}))};
    base.manifests.assign(100, {.path = "x", .bytes = 10});
    base.to_merge.assign(100, Bytes::copy("no manifest"));
    const auto made = build_commit(std::move(base), at({}), {}, {.snapshot = 5, .commit = "c"}, 0);
    EXPECT_TRUE(made.is(ErrorCode::corrupt));
}

}  // namespace
}  // namespace lakestream::table::iceberg
