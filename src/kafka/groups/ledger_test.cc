// SPDX-License-Identifier: Apache-2.0
// The ledger against the rules of a metadata shard: what a batch expects, and what answers mean.
#include "kafka/groups/ledger.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "kafka/groups/takeover.h"
#include "meta/memory_store.h"
#include "rt/sim/testing.h"

namespace lakestream::kafka::groups {
namespace {

using Verdict = Ledger::Verdict;

class LedgerTest : public ::testing::Test {
  protected:
    Ledger take(const std::string& who) {
        auto taken = sim_.run(take_over(store_, key_, {.coordinator = who, .number = ++number_}));
        EXPECT_TRUE(taken.ok());
        return std::move(taken->ledger);
    }
    Verdict write(Ledger& ledger, const Changes& changes) {
        return ledger.settle(changes, *service_.write(meta::ShardId(0), ledger.build(changes)));
    }
    static Changes commit(std::int64_t offset) {
        Changes changes;
        changes.offsets[{"t", 1}] = Committed{.offset = offset};
        return changes;
    }
    static Changes removal() {
        Changes changes;
        changes.offsets[{"t", 1}] = std::nullopt;
        return changes;
    }
    std::int64_t read(const Ledger& ledger) {
        const auto found = ledger.find("t", 1);
        return found.has_value() ? found->offset : -1;
    }

    rt::SimTest sim_;
    meta::MemoryMetadata service_{sim_.executor};
    meta::MemoryStore store_{service_, sim_.executor};
    const std::string key_ = keys::group("g");
    std::uint64_t number_ = 0;
};

TEST_F(LedgerTest, commits_and_is_fenced_by_the_next_epoch) {
    Ledger a = take("a");
    EXPECT_EQ(write(a, commit(1)), Verdict::done);
    EXPECT_EQ(write(a, commit(2)), Verdict::done);
    EXPECT_EQ(read(a), 2);
    Ledger b = take("b");
    EXPECT_EQ(b.epoch(), a.epoch() + 1);
    EXPECT_EQ(read(b), 2);
    EXPECT_EQ(write(a, commit(3)), Verdict::fenced);
    EXPECT_EQ(read(a), 2) << "not acknowledged";
    EXPECT_EQ(read(take("c")), 2);
}

TEST_F(LedgerTest, a_late_batch_of_a_zombie_hides_nothing) {
    Ledger a = take("a");
    ASSERT_EQ(write(a, commit(1)), Verdict::done);
    meta::ShardBatch late = a.build(commit(2));
    Ledger b = take("b");
    ASSERT_EQ(write(b, commit(5)), Verdict::done);
    const auto applied = service_.write(meta::ShardId(0), std::move(late));
    EXPECT_TRUE(applied->puts.at(0).is(ErrorCode::conflict)) << "b has written it since";
    EXPECT_EQ(read(take("c")), 5);
    // And where b had not: the zombie's value is void, the one below it counts.
    Ledger d = take("d");
    meta::ShardBatch second = d.build(commit(9));
    Ledger e = take("e");
    EXPECT_TRUE(service_.write(meta::ShardId(0), std::move(second))->puts.at(0).ok());
    EXPECT_EQ(read(take("f")), 5);
    // Fenced itself by now; but had it not been, the zombie's version is learnt and replaced.
    Ledger g = take("g");
    EXPECT_EQ(write(g, commit(6)), Verdict::done);
    EXPECT_EQ(read(take("h")), 6);
    EXPECT_EQ(write(e, commit(7)), Verdict::fenced);
}

TEST_F(LedgerTest, what_a_zombie_wrote_is_learnt_and_replaced) {
    Ledger a = take("a");
    ASSERT_EQ(write(a, commit(1)), Verdict::done);
    meta::ShardBatch late = a.build(commit(2));
    Ledger b = take("b");
    ASSERT_TRUE(service_.write(meta::ShardId(0), std::move(late)).ok());
    ASSERT_EQ(write(b, commit(3)), Verdict::again);
    ASSERT_EQ(b.stale(), std::vector<std::string>{keys::offset(key_, {"t", 1})});
    b.learn(b.stale().front(), service_.get({.key = b.stale().front()})->version.id);
    meta::ShardBatch stalled = b.build(commit(4));
    EXPECT_EQ(write(b, commit(3)), Verdict::done);
    EXPECT_EQ(read(take("c")), 3);
    EXPECT_TRUE(
        service_.write(meta::ShardId(0), std::move(stalled))->puts.at(0).is(ErrorCode::conflict)
    );
}

TEST_F(LedgerTest, removed_offsets_are_deleted_at_their_version_only) {
    Ledger a = take("a");
    ASSERT_EQ(write(a, commit(1)), Verdict::done);
    ASSERT_EQ(write(a, removal()), Verdict::done);
    EXPECT_EQ(read(a), -1);
    EXPECT_EQ(a.size(), 0U);
    EXPECT_TRUE(a.has_remains());
    meta::ShardBatch late = a.build_purge(10);
    Ledger b = take("b");
    EXPECT_EQ(read(b), -1);
    EXPECT_TRUE(b.has_remains());
    ASSERT_EQ(write(b, commit(2)), Verdict::done);
    ASSERT_TRUE(service_.write(meta::ShardId(0), std::move(late)).ok());
    EXPECT_EQ(read(take("c")), 2);
    Ledger d = take("d");
    ASSERT_EQ(write(d, removal()), Verdict::done);
    EXPECT_TRUE(d.settle_purge(*service_.write(meta::ShardId(0), d.build_purge(10))));
    EXPECT_FALSE(d.has_remains());
    EXPECT_TRUE(service_.get({.key = keys::offset(key_, {"t", 1})}).is(ErrorCode::not_found));
}

TEST_F(LedgerTest, a_deleted_group_goes_last) {
    Ledger a = take("a");
    Changes changes = commit(1);
    changes.record = GroupRecord{.generation = 3};
    ASSERT_EQ(write(a, changes), Verdict::done);
    EXPECT_TRUE(a.exists());
    changes = removal();
    changes.record = GroupRecord{.life = GroupRecord::Life::deleted, .generation = 3};
    ASSERT_EQ(write(a, changes), Verdict::done);
    EXPECT_FALSE(a.exists());
    EXPECT_TRUE(a.settle_purge(*service_.write(meta::ShardId(0), a.build_purge(1))));
    EXPECT_TRUE(service_.get({.key = key_}).ok()) << "found by it, as long as there is more";
    EXPECT_TRUE(a.has_remains());
    EXPECT_TRUE(a.settle_purge(*service_.write(meta::ShardId(0), a.build_purge(1))));
    EXPECT_FALSE(a.has_remains());
    EXPECT_TRUE(service_.get({.key = key_}).is(ErrorCode::not_found));
}

TEST_F(LedgerTest, a_void_record_keeps_its_generation_and_no_members) {
    Ledger a = take("a");
    Changes changes;
    changes.record = GroupRecord{.generation = 3, .members = {{.id = "m"}}};
    ASSERT_EQ(write(a, changes), Verdict::done);
    changes.record->generation = 4;
    meta::ShardBatch late = a.build(changes);
    take("b");
    ASSERT_TRUE(service_.write(meta::ShardId(0), std::move(late))->puts.at(0).ok());
    const auto taken = sim_.run(take_over(store_, key_, {.coordinator = "c", .number = 1}));
    EXPECT_EQ(taken->record->generation, 4);
    EXPECT_TRUE(taken->record->members.empty());
}

TEST_F(LedgerTest, an_epoch_of_its_own_that_was_given_up_is_not_taken_for_the_next) {
    take("a");
    const auto again = sim_.run(take_over(store_, key_, {.coordinator = "a", .number = 2}));
    EXPECT_TRUE(again->was_ours);
    EXPECT_EQ(again->ledger.epoch(), 2U);
    const auto other = sim_.run(take_over(store_, key_, {.coordinator = "b", .number = 1}));
    EXPECT_FALSE(other->was_ours);
    EXPECT_EQ(other->ledger.epoch(), 3U);
}

}  // namespace
}  // namespace lakestream::kafka::groups
