// SPDX-License-Identifier: Apache-2.0
// A table in a bucket: versions, hints, lost answers, other people's changes.
#include "table/iceberg/file_table.h"

#include <gtest/gtest.h>

#include <string>

#include "objstore/memory_store.h"
#include "objstore/testing/faulty_store.h"
#include "rt/sim/testing.h"

namespace lakestream::table::iceberg {
namespace {

using objstore::IfExists;

constexpr LogId a(1);

PreparedFile file(std::int64_t begin, std::int64_t end) {
    return {
        .ranges = {{a, {Offset(begin), Offset(end)}}},
        .file =
            TableFile{
                .path = "data/" + std::to_string(begin) + "-" + std::to_string(end),
                .records = end - begin
            },
    };
}

class FileTableTest : public testing::Test {
  protected:
    FileTableTest()
        : bucket_(sim_.clock), memory_(bucket_), offloader_(sim_.executor, 1ms), table_(make()) {}

    FileTable make() {
        return {
            memory_, offloader_, {.folder = "tables/d/t", .location = "file:///bucket/tables/d/t"}
        };
    }

    TableVersion create() {
        auto made = sim_.run(table_.open_or_create({.stream = "s", .next = {{a, Offset(5)}}}));
        EXPECT_TRUE(made.ok()) << made.error().message;
        return *made;
    }

    Result<CommitResult> append(std::vector<PreparedFile> files) {
        return sim_.run(table_.append({.stream = "s"}, std::move(files)));
    }

    Status put(const std::string& name, std::string text) {
        Slices body(Bytes::own(std::move(text)));
        return bucket_.put("tables/d/t/" + name, std::move(body), IfExists::overwrite);
    }

    std::string get(const std::string& name) {
        auto found = bucket_.get("tables/d/t/" + name, std::nullopt);
        return found.ok() ? std::string(found->view()) : "";
    }

    rt::SimTest sim_;
    objstore::MemoryBucket bucket_;
    objstore::MemoryStore memory_;
    rt::SimOffloader offloader_;
    FileTable table_;
};

TEST_F(FileTableTest, ANewTableStandsAtItsStart) {
    EXPECT_TRUE(sim_.run(table_.load()).is(ErrorCode::not_found));
    const TableVersion made = create();
    EXPECT_EQ(made.version, 1);
    EXPECT_EQ(get("metadata/version-hint.text"), "1");
    EXPECT_EQ(made.metadata.location, "file:///bucket/tables/d/t");
    const Position position = *position_of(made.metadata);
    EXPECT_EQ(position.table, made.metadata.uuid);
    EXPECT_EQ(position.of(a), Offset(5));
    EXPECT_EQ(create().metadata.uuid, made.metadata.uuid);
    EXPECT_EQ(bucket_.size(), 3);  // list, metadata, hint
}

TEST_F(FileTableTest, AppendsMakeVersionsOneAfterTheOther) {
    create();
    for (int i = 0; i < 3; ++i) {
        const auto result = append({file(5 + i, 6 + i)});
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_EQ(result->verdict, Verdict::append);
        EXPECT_EQ(result->version, 2 + i);
        EXPECT_EQ(result->position.of(a), Offset(6 + i));
        EXPECT_EQ(get("metadata/version-hint.text"), std::to_string(2 + i));
    }
    EXPECT_EQ(append({file(5, 6)})->verdict, Verdict::nothing_new);
    EXPECT_EQ(append({file(9, 10)})->verdict, Verdict::misaligned);
    EXPECT_EQ(append({})->verdict, Verdict::nothing_new);
    EXPECT_EQ(sim_.run(table_.append({.stream = "r"}, {}))->verdict, Verdict::suspended);
    // Voids move the position and add no file.
    EXPECT_EQ(append({{.ranges = {{a, {Offset(8), Offset(20)}}}}})->position.of(a), Offset(20));

    const TableVersion now = *sim_.run(table_.load());
    EXPECT_EQ(now.version, 5);
    const auto files = sim_.run(table_.load_files(now.metadata, now.metadata.snapshots.back()));
    ASSERT_TRUE(files.ok()) << files.error().message;
    ASSERT_EQ(files->size(), 3);
    EXPECT_EQ((*files)[0].path, "file:///bucket/tables/d/t/data/5-6");
    EXPECT_EQ(*table_.object_name(now.metadata, (*files)[0].path), "tables/d/t/data/5-6");
    EXPECT_EQ(*table_.object_name(now.metadata, "/bucket/tables/d/t/x"), "tables/d/t/x");
    EXPECT_TRUE(table_.object_name(now.metadata, "/bucket/tables/d/tt/x").is(ErrorCode::unsupported)
    );
}

TEST_F(FileTableTest, TheHintMayBeAnything) {
    create();
    for (int i = 5; i < 45; ++i) {
        ASSERT_TRUE(append({file(i, i + 1)}).ok());
    }
    for (const char* const hint :
         {"41", "41\n", "1", "7", "", "x", "-3", "0", "99999999999999999999", "1000", "42"}) {
        ASSERT_TRUE(put("metadata/version-hint.text", hint).ok());
        const auto found = sim_.run(table_.load());
        ASSERT_TRUE(found.ok()) << hint << found.error().message;
        EXPECT_EQ(found->version, 41) << hint;
    }
    ASSERT_TRUE(bucket_.remove("tables/d/t/metadata/version-hint.text").ok());
    EXPECT_EQ(sim_.run(table_.load())->version, 41);
    // Whoever has nothing to do mends it.
    EXPECT_EQ(append({file(5, 6)})->verdict, Verdict::nothing_new);
    EXPECT_EQ(get("metadata/version-hint.text"), "41");
}

TEST_F(FileTableTest, OfTwoCommittersEachRowIsCommittedOnce) {
    create();
    std::vector<Result<CommitResult>> results;
    for (int i = 0; i < 2; ++i) {
        const auto run = [](FileTable& table,
                            std::vector<Result<CommitResult>>& out) -> rt::Task<bool> {
            std::vector<PreparedFile> files{file(5, 6)};
            out.push_back(co_await table.append({.stream = "s"}, std::move(files)));
            co_return true;
        };
        static_cast<void>(rt::submit(sim_.executor, run(table_, results)));
    }
    ASSERT_TRUE(sim_.loop.run_until([&] { return results.size() == 2; }));
    EXPECT_EQ(results[0]->verdict, Verdict::append);
    EXPECT_EQ(results[1]->verdict, Verdict::nothing_new);
    EXPECT_EQ(sim_.run(table_.load())->version, 2);
}

TEST_F(FileTableTest, SomebodyElsesChangesAreKept) {
    create();
    TableVersion now = *sim_.run(table_.load());
    now.metadata.properties["owner"] = "them";
    now.metadata.other = R"({"statistics":[{"snapshot-id":1}]})";
    ASSERT_TRUE(put("metadata/v2.metadata.json", to_json(now.metadata)).ok());
    EXPECT_EQ(append({file(5, 6)})->version, 3);
    const TableVersion after = *sim_.run(table_.load());
    EXPECT_EQ(after.metadata.properties.at("owner"), "them");
    EXPECT_EQ(after.metadata.other, now.metadata.other);
}

TEST_F(FileTableTest, AForeignTableWaitsForACommand) {
    create();
    TableVersion now = *sim_.run(table_.load());
    now.metadata.refs.erase("lakestream");
    ASSERT_TRUE(put("metadata/v2.metadata.json", to_json(now.metadata)).ok());
    EXPECT_EQ(append({file(5, 6)})->verdict, Verdict::suspended);
    EXPECT_EQ(sim_.run(table_.load())->version, 2);

    EXPECT_EQ(sim_.run(table_.take_over("s"))->version, 3);
    EXPECT_EQ(sim_.run(table_.take_over("s"))->verdict, Verdict::nothing_new);
    EXPECT_EQ(append({file(0, 1)})->verdict, Verdict::append);
}

TEST_F(FileTableTest, AnotherStreamTakesOverWithoutTheRowsBefore) {
    create();
    ASSERT_EQ(append({file(5, 6)})->version, 2);
    EXPECT_EQ(sim_.run(table_.take_over("s2"))->version, 3);
    const TableVersion now = *sim_.run(table_.load());
    ASSERT_EQ(now.metadata.snapshots.size(), 3U);
    const Snapshot& before = now.metadata.snapshots[1];
    const Snapshot& after = now.metadata.snapshots[2];
    EXPECT_EQ(sim_.run(table_.load_files(now.metadata, before))->size(), 1U) << "time travel";
    EXPECT_TRUE(sim_.run(table_.load_files(now.metadata, after))->empty());
    EXPECT_EQ(after.summary.at("operation"), "delete");
    EXPECT_EQ(after.summary.at("total-records"), "0");
    EXPECT_EQ(append({file(6, 7)})->verdict, Verdict::suspended) << "of the stream before";
    const auto appended = sim_.run(table_.append({.stream = "s2"}, {file(0, 2)}));
    EXPECT_EQ(appended->verdict, Verdict::append);
    const TableVersion last = *sim_.run(table_.load());
    EXPECT_EQ(last.metadata.snapshots.back().summary.at("total-records"), "2");
}

TEST_F(FileTableTest, DamageIsNamed) {
    create();
    ASSERT_TRUE(append({file(5, 6)}).ok());
    const TableVersion now = *sim_.run(table_.load());
    const std::string list = now.metadata.snapshots.back().manifest_list.substr(
        std::string("file:///bucket/tables/d/t/").size()
    );
    const std::string good = get(list);
    ASSERT_TRUE(put(list, "damaged").ok());
    const auto damaged = append({file(6, 7)});
    EXPECT_TRUE(damaged.is(ErrorCode::corrupt));
    EXPECT_NE(damaged.error().message.find(list), std::string::npos);
    ASSERT_TRUE(put(list, good).ok());
    EXPECT_EQ(append({file(6, 7)})->verdict, Verdict::append);

    ASSERT_TRUE(put("metadata/v4.metadata.json", "{").ok());
    const auto broken = append({file(7, 8)});
    EXPECT_TRUE(broken.is(ErrorCode::corrupt));
    EXPECT_NE(broken.error().message.find("v4.metadata.json"), std::string::npos);
}

TEST_F(FileTableTest, SnapshotsAreForgottenButNotThePosition) {
    FileTable table(
        memory_,
        offloader_,
        {.folder = "tables/d/t",
         .location = "/t",
         .retention = {.age_ms_max = 1'000'000, .count_max = 9}}
    );
    create();
    for (int i = 5; i < 50; ++i) {
        ASSERT_TRUE(sim_.run(table.append({.stream = "s"}, {file(i, i + 1)})).ok());
    }
    const TableVersion now = *sim_.run(table_.load());
    EXPECT_LT(now.metadata.snapshots.size(), 10);
    EXPECT_EQ(now.metadata.snapshots.back().summary.at("total-records"), "45");
    EXPECT_EQ(position_of(now.metadata)->of(a), Offset(50));
    const auto files = sim_.run(table_.load_files(now.metadata, now.metadata.snapshots.back()));
    EXPECT_EQ(files->size(), 45);
}

/// Answers of the commits while puts of metadata meet this fault.
TEST_F(FileTableTest, ALostAnswerIsLookedUp) {
    objstore::FaultOptions faults;
    faults.rules.resize(1);
    faults.rules[0].prefix = "tables/d/t/metadata/v2";
    faults.rules[0].rates[objstore::Operation::put].lose_answer = {1, 1};
    objstore::FaultyStore store(memory_, sim_.executor, faults, 1);
    create();
    FileTable table(store, offloader_, {.folder = "tables/d/t"});
    const auto result = sim_.run(table.append({.stream = "s"}, {file(5, 6)}));
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->verdict, Verdict::nothing_new);  // it was done, who knows by whom
    EXPECT_EQ(result->position.of(a), Offset(6));
    EXPECT_EQ(result->version, 2);
    sim_.run(store.close());
}

TEST_F(FileTableTest, WhatCannotBeKnownIsSaid) {
    objstore::FaultOptions faults;
    faults.rules.resize(2);
    faults.rules[0].prefix = "tables/d/t/metadata/v2";
    faults.rules[0].rates[objstore::Operation::put].apply_late = {1, 1};
    objstore::FaultyStore store(memory_, sim_.executor, faults, 1);
    create();
    FileTable table(store, offloader_, {.folder = "tables/d/t"});
    const auto result = sim_.run(table.append({.stream = "s"}, {file(5, 6)}));
    EXPECT_TRUE(
        !result.ok() ? result.is(ErrorCode::outcome_unknown) : result->position.of(a) == Offset(6)
    );
    sim_.run(store.close());
    // However late it came: once.
    const auto again = append({file(5, 6)});
    EXPECT_EQ(again->verdict, Verdict::nothing_new);
    const TableVersion now = *sim_.run(table_.load());
    EXPECT_EQ(now.version, 2);
    EXPECT_EQ(now.metadata.snapshots.back().summary.at("total-records"), "1");
}

}  // namespace
}  // namespace lakestream::table::iceberg
