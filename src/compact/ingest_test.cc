// SPDX-License-Identifier: Apache-2.0
// Ingest over real WAL objects: each is fetched once, voids and damage are left out, limits cut.
#include "compact/ingest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "log/index_value.h"
#include "objstore/memory_store.h"
#include "rt/sim/testing.h"
#include "wal/object_format.h"

namespace lakestream::compact {
namespace {

constexpr LogId log_a(7);
constexpr LogId log_b(9);

/// The folded prefix of each log, as a test has put it there.
class FixedView final : public log::CompactionView {
  public:
    rt::Task<std::vector<LogId>> take_grown() override { co_return std::vector<LogId>(); }
    rt::Task<Result<std::vector<log::WalkRecord>>> walk(LogId log, Offset from, std::size_t limit)
        override {
        std::vector<log::WalkRecord> out;
        for (const log::WalkRecord& record : records[log]) {
            if (record.range.end > from && out.size() < limit) {
                out.push_back(record);
            }
        }
        co_return out;
    }
    rt::Task<Result<log::Checkpoint>> checkpoint(LogId, OffsetRange) override {
        co_return log::Checkpoint{};
    }
    rt::Task<bool> settle(Deadline) override { co_return false; }

    std::map<LogId, std::vector<log::WalkRecord>> records;
};

class IngestTest : public testing::Test {
  protected:
    void SetUp() override {
        auto files = open_spill_folder(std::filesystem::path(testing::TempDir()) / "ingest");
        ASSERT_TRUE(files.ok());
        files_ = std::move(*files);
        spill_.emplace(*files_, 1 << 20);
    }

    /// One object with an entry of one record for each of `texts` in each log; gives its bytes.
    Bytes store(const std::string& name, const std::map<LogId, std::vector<std::string>>& texts) {
        wal::ObjectBuilder builder;
        std::vector<log::Section> sections;
        for (const auto& [log, entries] : texts) {
            log::Section& section = sections.emplace_back();
            section.log = log;
            section.location = name;
            for (const std::string& text : entries) {
                section.entries.push_back(
                    {.request = {.log = log, .payload = Bytes::copy(text), .records = 1}}
                );
                section.records += 1;
                section.bytes += text.size();
                builder.add(log, section.entries.back().request.payload, 1);
            }
        }
        const wal::BuiltObject built = builder.finish();
        for (const log::Section& section : sections) {
            std::vector<log::WalkRecord>& records = view_.records[section.log];
            const Offset begin = records.empty() ? Offset(0) : records.back().range.end;
            records.push_back(
                {.range = {begin, begin + section.records},
                 .cumulative = static_cast<std::int64_t>(section.bytes),
                 .created = WallTime(),
                 .value = to_index_record(section, built),
                 .voids = {}}
            );
        }
        Bytes body = built.body.join();
        EXPECT_TRUE(bucket_.put(name, Slices(body), objstore::IfExists::overwrite).ok());
        return body;
    }

    IngestDone bring_in(IngestLimits limits = {}) {
        std::vector<IngestLog> logs;
        for (const auto& [log, records] : view_.records) {
            logs.push_back({log, spill_->end_of(log, Offset(0))});
        }
        auto done = sim_.run(ingest(view_, objects_, offloader_, *spill_, logs, limits));
        EXPECT_TRUE(done.ok());
        return *done;
    }

    std::vector<std::string> spilled(LogId log) {
        std::vector<std::string> out;
        for (const Chunk& chunk : spill_->chunks(log, Offset(0))) {
            for (const SpilledEntry& entry : *spill_->load(chunk)) {
                out.emplace_back(entry.payload.view());
            }
        }
        return out;
    }

    rt::SimTest sim_;
    rt::SimOffloader offloader_{sim_.executor, 1ms};
    objstore::MemoryBucket bucket_{sim_.clock};
    objstore::MemoryStore objects_{bucket_};
    FixedView view_;
    std::unique_ptr<SpillFiles> files_;
    std::optional<Spill> spill_;
};

using Texts = std::vector<std::string>;

TEST_F(IngestTest, an_object_is_fetched_once_for_all_its_logs) {
    store("1", {{log_a, {"a0", "a1"}}, {log_b, {"b0"}}});
    store("2", {{log_a, {"a2"}}, {log_b, {"b1", "b2"}}});
    const IngestDone done = bring_in();
    EXPECT_EQ(done.objects, 2U);
    EXPECT_FALSE(done.more);
    EXPECT_EQ(spilled(log_a), (Texts{"a0", "a1", "a2"}));
    EXPECT_EQ(spilled(log_b), (Texts{"b0", "b1", "b2"}));
    EXPECT_EQ(bring_in().objects, 0U) << "nothing is new";
}

TEST_F(IngestTest, voids_are_left_out_and_leave_no_gap) {
    store("1", {{log_a, {"a0", "void", "a2"}}});
    view_.records[log_a].front().voids = {{Offset(1), Offset(2)}};
    bring_in();
    EXPECT_EQ(spilled(log_a), (Texts{"a0", "a2"}));
    EXPECT_EQ(spill_->end_of(log_a, Offset(0)), Offset(3));
}

TEST_F(IngestTest, a_round_ends_at_its_limit_and_the_next_goes_on) {
    for (const char* name : {"1", "2", "3"}) {
        store(name, {{log_a, {std::string(1000, *name)}}});
    }
    const IngestDone first = bring_in({.bytes_max = 1500});
    EXPECT_EQ(first.objects, 2U) << "the second passes the limit";
    EXPECT_TRUE(first.more);
    const IngestDone second = bring_in({.bytes_max = 1500});
    EXPECT_EQ(second.objects, 1U);
    EXPECT_FALSE(second.more);
    EXPECT_EQ(spilled(log_a).size(), 3U);
}

TEST_F(IngestTest, what_a_log_needs_first_comes_first_whatever_its_date) {
    store("3", {{log_a, {"a0"}}});  // by a node whose clock is ahead
    store("1", {{log_a, {"a1"}}, {log_b, {"b0"}}});
    store("2", {{log_b, {"b1"}}});
    EXPECT_TRUE(bring_in({.bytes_max = 1}).more);
    EXPECT_EQ(spilled(log_a), (Texts{"a0"}));
    bring_in({.bytes_max = 1});
    EXPECT_EQ(spilled(log_a), (Texts{"a0", "a1"}));
    EXPECT_EQ(spilled(log_b), (Texts{"b0"}));
}

TEST_F(IngestTest, logs_that_need_objects_in_opposite_orders_get_them_all) {
    store("1", {{log_a, {"a0"}}, {log_b, {"b0"}}});
    store("2", {{log_a, {"a1"}}, {log_b, {"b1"}}});
    auto& records = view_.records[log_b];
    std::swap(records[0].value, records[1].value);
    EXPECT_EQ(bring_in().objects, 2U);
    EXPECT_EQ(spilled(log_a), (Texts{"a0", "a1"}));
    EXPECT_EQ(spilled(log_b), (Texts{"b1", "b0"}));
}

TEST_F(IngestTest, damage_stops_the_logs_it_concerns_and_no_others) {
    const Bytes whole = store("1", {{log_a, {"a0"}}, {log_b, {"b0"}}});
    std::string broken(whole.view());
    broken.at(broken.rfind("a0")) = 'x';
    const Bytes body = Bytes::own(std::move(broken));
    ASSERT_TRUE(bucket_.put("1", Slices(body), objstore::IfExists::overwrite).ok());
    store("2", {{log_a, {"a1"}}, {log_b, {"b1"}}});
    const IngestDone done = bring_in();
    ASSERT_EQ(done.damaged.size(), 1U);
    EXPECT_TRUE(done.damaged.at(log_a).code == ErrorCode::corrupt);
    EXPECT_EQ(spill_->end_of(log_a, Offset(0)), Offset(0)) << "nothing behind the damage counts";
    EXPECT_EQ(spilled(log_b), (Texts{"b0", "b1"}));
}

TEST_F(IngestTest, an_object_without_a_readable_index_block_is_damage_of_its_logs) {
    store("1", {{log_a, {"a0"}}});
    const Bytes noise = Bytes::own(std::string(40, '\xff'));
    ASSERT_TRUE(bucket_.put("1", Slices(noise), objstore::IfExists::overwrite).ok());
    store("2", {{log_b, {"b0"}}});
    const IngestDone done = bring_in();
    ASSERT_TRUE(done.damaged.contains(log_a));
    EXPECT_NE(done.damaged.at(log_a).message.find("WAL object 1"), std::string::npos);
    EXPECT_EQ(spilled(log_b), (Texts{"b0"}));
}

TEST_F(IngestTest, a_missing_object_is_damage_of_its_logs) {
    store("1", {{log_a, {"a0"}}});
    store("2", {{log_b, {"b0"}}});
    EXPECT_TRUE(bucket_.remove("1").ok());
    const IngestDone done = bring_in();
    ASSERT_TRUE(done.damaged.contains(log_a));
    EXPECT_NE(done.damaged.at(log_a).message.find('1'), std::string::npos);
    EXPECT_EQ(spilled(log_b), (Texts{"b0"}));
}

TEST_F(IngestTest, records_that_are_compacted_are_told_and_not_fetched) {
    store("1", {{log_a, {"a0"}}});
    view_.records[log_a].front().value.file_type = index::FileType::parquet;
    const IngestDone done = bring_in();
    EXPECT_TRUE(done.passed.contains(log_a));
    EXPECT_EQ(done.objects, 0U);
}

}  // namespace
}  // namespace lakestream::compact
