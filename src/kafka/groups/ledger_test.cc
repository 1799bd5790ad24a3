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
    EXPECT_GT(b.epoch(), a.epoch());
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
    meta::ShardBatch late = a.build_purge(10, Purge::what_was_removed);
    Ledger b = take("b");
    EXPECT_EQ(read(b), -1);
    EXPECT_TRUE(b.has_remains());
    ASSERT_EQ(write(b, commit(2)), Verdict::done);
    ASSERT_TRUE(service_.write(meta::ShardId(0), std::move(late)).ok());
    EXPECT_EQ(read(take("c")), 2);
    Ledger d = take("d");
    ASSERT_EQ(write(d, removal()), Verdict::done);
    EXPECT_TRUE(d.settle_purge(
        *service_.write(meta::ShardId(0), d.build_purge(10, Purge::what_was_removed))
    ));
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
    EXPECT_TRUE(
        a.settle_purge(*service_.write(meta::ShardId(0), a.build_purge(1, Purge::what_was_removed)))
    );
    EXPECT_TRUE(service_.get({.key = key_}).ok()) << "found by it, as long as there is more";
    EXPECT_TRUE(a.has_remains());
    EXPECT_TRUE(
        a.settle_purge(*service_.write(meta::ShardId(0), a.build_purge(1, Purge::what_was_removed)))
    );
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
    const auto take_after = [&](const std::string& who, std::uint64_t number, std::uint64_t after) {
        return sim_.run(
            take_over(store_, key_, {.coordinator = who, .number = number, .after = after})
        );
    };
    EXPECT_TRUE(take_after("a", 1, 1).is(ErrorCode::fenced)) << "there is none";
    const Ledger first = take("a");
    const auto again = take_after("a", 2, 1);
    ASSERT_TRUE(again.ok());
    EXPECT_GT(again->ledger.epoch(), first.epoch());
    EXPECT_NE(again->ledger.identity(), first.identity());
    EXPECT_TRUE(take_after("a", 4, 3).is(ErrorCode::fenced)) << "one of an earlier load";
    EXPECT_TRUE(take_after("b", 1, 1).is(ErrorCode::fenced));
    take("b");
    EXPECT_TRUE(take_after("a", 5, 1).is(ErrorCode::fenced)) << "and nothing was put";
    EXPECT_TRUE(take_after("b", 9, 1).ok());
}

/// Whether it is made again before the zombie writes, or after.
class DeletedGroup : public LedgerTest, public ::testing::WithParamInterface<bool> {};

TEST_P(DeletedGroup, leaves_nothing_and_its_zombies_change_no_later_one) {
    Ledger a = take("a");
    Changes changes = commit(1);
    changes.record = GroupRecord{.generation = 3, .members = {{.id = "m"}}};
    ASSERT_EQ(write(a, changes), Verdict::done);
    changes.offsets[{"t", 2}] = Committed{.offset = 7};
    const meta::ShardBatch late = a.build(changes);
    Ledger b = take("b");
    Changes deleted = removal();
    deleted.record = GroupRecord{.life = GroupRecord::Life::deleted};
    ASSERT_EQ(write(b, deleted), Verdict::done);
    const meta::ShardBatch end = b.build_purge(10, Purge::the_epoch_too);
    EXPECT_TRUE(b.is_ending());
    ASSERT_TRUE(b.settle_purge(*service_.write(meta::ShardId(0), end)));
    EXPECT_TRUE(service_.list({})->empty());
    if (GetParam()) {
        Ledger c = take("c");
        Changes fresh;
        fresh.record = GroupRecord{.generation = 1};
        ASSERT_EQ(write(c, fresh), Verdict::done);
    }
    const auto applied = service_.write(meta::ShardId(0), late);
    EXPECT_TRUE(applied->puts.at(1).ok()) << "what was absent is there now";
    EXPECT_EQ(a.settle(changes, *applied), Verdict::fenced);
    const auto taken = sim_.run(take_over(store_, key_, {.coordinator = "d", .number = ++number_}));
    EXPECT_EQ(taken->ledger.size(), 0U);
    EXPECT_EQ(taken->ledger.exists(), GetParam());
    EXPECT_EQ(taken->record.has_value(), GetParam());
    ASSERT_TRUE(service_.write(meta::ShardId(0), late).ok());
    Ledger e = take("e");
    EXPECT_EQ(e.size(), 0U) << "whenever it comes";
}

INSTANTIATE_TEST_SUITE_P(Ledger, DeletedGroup, ::testing::Bool());

TEST_F(LedgerTest, epochs_are_forgotten_when_no_record_needs_them) {
    Ledger a = take("a");
    ASSERT_EQ(write(a, commit(1)), Verdict::done);
    const meta::ShardBatch late = a.build(commit(2));
    const auto remembered = [&] {
        return decode_epochs(service_.get({.key = keys::epoch(key_)})->value)->begun.size();
    };
    for (int i = 0; i < 20; ++i) {
        take("b");
    }
    EXPECT_EQ(remembered(), 20U) << "all that began since the last batch but the last";
    ASSERT_TRUE(service_.write(meta::ShardId(0), late)->puts.at(0).ok());
    take("c");
    Ledger d = take("d");
    EXPECT_TRUE(d.has_long_memory());
    ASSERT_EQ(d.covered().size(), 1U);
    EXPECT_EQ(d.covered().begin()->second->offset, 1);
    Changes other;
    other.offsets[{"u", 1}] = Committed{.offset = 5};
    ASSERT_EQ(write(d, other), Verdict::done);
    EXPECT_EQ(remembered(), 23U) << "the zombie's is void by one of them";
    EXPECT_EQ(read(take("e")), 1);
    Ledger f = take("f");
    ASSERT_EQ(write(f, {.offsets = f.covered()}), Verdict::done);
    ASSERT_EQ(write(f, {}), Verdict::done);
    EXPECT_EQ(remembered(), 1U);
    EXPECT_EQ(read(take("g")), 1);
}

TEST_F(LedgerTest, reads_what_the_first_format_left) {
    const auto put = [&](const std::string& key, std::string_view value) {
        service_
            .write(
                meta::ShardId(0),
                {.puts = {{.key = key, .value = Bytes::copy(value), .partition_key = key_}}}
            )
            .value();
    };
    OffsetRecord offset{.epoch = 2, .current = Committed{.offset = 4}};
    std::string old = std::string(encode(offset).view());
    old[0] = 1;
    for (int i = 1; i <= 2; ++i) {
        put(fmt::format("{}/e{:020}", key_, i), "");
    }
    put(keys::offset(key_, {"t", 1}), old);
    Ledger a = take("a");
    EXPECT_EQ(read(a), 4);
    EXPECT_TRUE(a.has_remains());
    EXPECT_TRUE(a.settle_purge(
        *service_.write(meta::ShardId(0), a.build_purge(10, Purge::what_was_removed))
    ));
    EXPECT_FALSE(a.has_remains());
    EXPECT_EQ(service_.list({})->size(), 2U) << "the offset and the epoch";
    EXPECT_EQ(read(take("b")), 4);
    put(keys::offset(key_, {"t", 2}), old);
    EXPECT_EQ(take("c").size(), 1U) << "nobody writes that now";
}

}  // namespace
}  // namespace lakestream::kafka::groups
