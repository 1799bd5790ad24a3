// SPDX-License-Identifier: Apache-2.0
// What every store does alike: the conformance cases of the metadata protocol, by number.
//
// Elsewhere: 15, 21, 22, 25, 26 (order and shards: memory_store_test.cc), 27
// (shard_router_test.cc), 64 (embedded_kill_test.cc), 65 (property_test.cc, by comparison with the
// other store). Left out: 35 to 37 (sequence subscriptions: nothing of ours needs them), 45, 48, 55
// to 63 (a network client's), 46, 47 (secondary indexes), 52, 54 (resuming a subscription: ours are
// never cut).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "meta/testing/store_under_test.h"
#include "meta/validation.h"

namespace lakestream::meta {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::StoreKind;
using testing::StoreUnderTest;

class MetadataContract : public ::testing::TestWithParam<StoreKind> {
  protected:
    MetadataStore& store() { return under_test.store(); }

    Result<PutDone> put(Put request) {
        return under_test.run(meta::put(store(), std::move(request)));
    }

    Result<PutDone> put(std::string key, std::string value = "v", Expect expect = Expect::any()) {
        return put(
            Put{.key = std::move(key), .value = Bytes::own(std::move(value)), .expect = expect}
        );
    }

    Result<PutDone> sequence(std::string prefix, std::vector<std::uint64_t> deltas) {
        return put(Put{
            .key = std::move(prefix), .partition_key = "p", .sequence_deltas = std::move(deltas)
        });
    }

    std::string sequence_key(std::string prefix, std::vector<std::uint64_t> deltas) {
        const auto done = sequence(std::move(prefix), std::move(deltas));
        return done.ok() ? done->key : done.error().to_string();
    }

    Status remove(std::string key, Expect expect = Expect::any()) {
        return under_test.run(meta::remove(store(), {.key = std::move(key), .expect = expect}));
    }

    Result<ShardBatchDone> write(ShardBatch batch) {
        return under_test.wait(store().write(ShardId(0), std::move(batch)));
    }

    Result<Record> get(std::string key, Comparison comparison = Comparison::equal) {
        return under_test.wait(store().get({.key = std::move(key), .comparison = comparison}));
    }

    std::string near(std::string key, Comparison comparison) {
        const auto found = get(std::move(key), comparison);
        return found.ok() ? found->key : "none";
    }

    std::vector<std::string> list(std::string begin, std::string end) {
        return under_test.wait(store().list({.begin = std::move(begin), .end = std::move(end)}))
            .value();
    }

    std::vector<std::string> scan_keys(std::string begin, std::string end) {
        const auto records = under_test.run(
            read_all(store(), {.begin = std::move(begin), .end = std::move(end)}, 1'000'000)
        );
        std::vector<std::string> keys;
        for (const Record& record : records.value()) {
            keys.push_back(record.key);
        }
        return keys;
    }

    void put_all(const std::vector<std::string>& keys) {
        ShardBatch batch;
        for (const std::string& key : keys) {
            batch.puts.push_back({.key = key});
        }
        ASSERT_TRUE(write(std::move(batch)).ok());
    }

    SessionId open_session(Duration timeout = 10s, std::string identity = "me") {
        return under_test.wait(store().open_session(timeout, std::move(identity), nullptr)).value();
    }

    // Every change since now, as text.
    void watch() {
        subscription =
            under_test
                .wait(store().subscribe(
                    under_test.sim.executor,
                    {.changed = [this](const ChangeBatch& batch) { note(batch); }, .gap = nullptr}
                ))
                .value();
    }

    void note(const ChangeBatch& batch) {
        offsets.push_back(batch.offset);
        std::string text;
        for (const Change& change : batch.changes) {
            text += " cmdr"[1 + static_cast<int>(change.kind)];
            text += change.version.has_value() ? "v:" : ":";
            text += change.key + (change.range_end.empty() ? "" : ".." + change.range_end) + " ";
        }
        changes.push_back(text);
    }

    std::vector<std::string> seen() {
        under_test.sim.loop.run_for(1ms);
        return std::exchange(changes, {});
    }

    StoreUnderTest under_test{GetParam()};
    std::unique_ptr<Subscription> subscription;
    std::vector<std::string> changes;
    std::vector<std::int64_t> offsets;
};

INSTANTIATE_TEST_SUITE_P(
    Stores,
    MetadataContract,
    ::testing::Values(StoreKind::memory, StoreKind::embedded),
    testing::name_of
);

TEST_P(MetadataContract, Case01NewRecord) {
    const auto done = put({.key = "k", .value = Bytes::copy("v"), .identity = "id"});
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->version.modifications, 0);
    EXPECT_EQ(done->version.created, done->version.modified);
    const auto found = get("k");
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->key, "k");
    EXPECT_EQ(found->value.view(), "v");
    EXPECT_EQ(found->version.id, done->version.id);
    EXPECT_EQ(found->version.created, done->version.created);
    EXPECT_EQ(found->version.identity, "id");
    EXPECT_FALSE(found->version.session.has_value());
}

TEST_P(MetadataContract, Case02OverwriteKeepsCreatedTime) {
    const auto first = put({.key = "k", .identity = "id"});
    under_test.sim.loop.run_for(5ms);
    const auto second = put("k", "w");
    EXPECT_GT(second->version.id, first->version.id);
    EXPECT_EQ(second->version.modifications, 1);
    EXPECT_EQ(second->version.created, first->version.created);
    EXPECT_GE(second->version.modified, first->version.created + 5ms);
    EXPECT_FALSE(get("k")->version.identity.has_value());
}

TEST_P(MetadataContract, Case03MissingRecord) {
    EXPECT_TRUE(get("k").is(ErrorCode::not_found));
}

TEST_P(MetadataContract, Case04EmptyValue) {
    ASSERT_TRUE(put("k", "").ok());
    EXPECT_TRUE(get("k")->value.empty());
}

TEST_P(MetadataContract, Case05ExpectAbsent) {
    EXPECT_TRUE(put("k", "v", Expect::absent()).ok());
    EXPECT_TRUE(put("k", "w", Expect::absent()).is(ErrorCode::conflict));
    EXPECT_EQ(get("k")->value.view(), "v");
}

TEST_P(MetadataContract, Case06ExpectVersion) {
    const VersionId old = put("k")->version.id;
    EXPECT_TRUE(put("missing", "v", Expect::at(old)).is(ErrorCode::conflict));
    EXPECT_TRUE(put("k", "v", Expect::at(old)).ok());
    EXPECT_TRUE(put("k", "v", Expect::at(old)).is(ErrorCode::conflict));
}

TEST_P(MetadataContract, Case07Delete) {
    const VersionId version = put("k")->version.id;
    EXPECT_TRUE(remove("k", Expect::at(VersionId(version.v + 1))).is(ErrorCode::conflict));
    EXPECT_TRUE(remove("k", Expect::absent()).is(ErrorCode::conflict));
    EXPECT_TRUE(get("k").ok());
    EXPECT_TRUE(remove("k", Expect::at(version)).ok());
    EXPECT_TRUE(remove("k").is(ErrorCode::not_found));
    EXPECT_TRUE(remove("k", Expect::absent()).is(ErrorCode::not_found));
    EXPECT_TRUE(remove("k", Expect::at(version)).is(ErrorCode::conflict));
}

TEST_P(MetadataContract, Case08DeleteThenPutBeginsAnew) {
    const auto first = put("k");
    ASSERT_TRUE(put("k").ok());
    ASSERT_TRUE(remove("k").ok());
    under_test.sim.loop.run_for(5ms);
    const auto again = put("k");
    EXPECT_EQ(again->version.modifications, 0);
    EXPECT_GE(again->version.created, first->version.created + 5ms);
    EXPECT_EQ(again->version.id, VersionId(first->version.id.v + 2));
}

TEST_P(MetadataContract, Case09RefusedPutTakesNoVersion) {
    const VersionId first = put("k")->version.id;
    EXPECT_FALSE(put("k", "w", Expect::absent()).ok());
    EXPECT_FALSE(remove("k", Expect::absent()).ok());
    EXPECT_EQ(get("k")->version.id, first);
    EXPECT_EQ(put("l")->version.id, VersionId(first.v + 1));
}

TEST_P(MetadataContract, Case10PutsOfOneBatchSeeEachOther) {
    const auto done = write({
        .puts = {{.key = "k"}, {.key = "k", .expect = Expect::absent()}, {.key = "k"}},
        .deletes = {},
        .ranges = {},
    });
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->puts[0]->version.modifications, 0);
    EXPECT_TRUE(done->puts[1].is(ErrorCode::conflict));
    EXPECT_EQ(done->puts[2]->version.modifications, 1);
}

TEST_P(MetadataContract, Case11PutsThenDeletesThenRanges) {
    const auto done = write({
        .puts = {{.key = "k"}, {.key = "r"}},
        .deletes =
            {{.key = "k", .expect = Expect::absent()},
             {.key = "k"},
             {.key = "k", .expect = Expect::absent()},
             {.key = "k"}},
        .ranges = {{.begin = "r", .end = "s"}},
    });
    ASSERT_TRUE(done.ok());
    EXPECT_TRUE(done->puts[0].ok() && done->puts[1].ok());
    EXPECT_TRUE(done->deletes[0].is(ErrorCode::conflict));
    EXPECT_TRUE(done->deletes[1].ok());
    EXPECT_TRUE(done->deletes[2].is(ErrorCode::not_found));
    EXPECT_TRUE(done->deletes[3].is(ErrorCode::not_found));
    EXPECT_THAT(list("", ""), IsEmpty());
}

TEST_P(MetadataContract, Case12AnswersInOrder) {
    ShardBatch batch;
    for (int i = 0; i < 1000; ++i) {
        batch.puts.push_back({.key = "k" + std::to_string(i * 7919 % 1000)});
    }
    const auto done = write(batch);
    ASSERT_TRUE(done.ok());
    ASSERT_EQ(done->puts.size(), 1000U);
    for (std::size_t i = 0; i < 1000; ++i) {
        EXPECT_EQ(done->puts[i]->key, batch.puts[i].key);
        EXPECT_EQ(done->puts[i]->version.id.v, done->puts[0]->version.id.v + static_cast<int>(i));
    }
}

TEST_P(MetadataContract, Case13LargeValues) {
    const std::string large(1 << 20, 'x');
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(put("k" + std::to_string(i), large).ok());
    }
    EXPECT_EQ(get("k1")->value.view(), large);
    const auto all = under_test.run(read_all(store(), {}, 10));
    ASSERT_EQ(all->size(), 3U);
    EXPECT_EQ((*all)[2].value.view(), large);
}

TEST_P(MetadataContract, Case14HierarchicalOrder) {
    // As a server of version 0.14.0 lists them.
    const std::vector<std::string> sample{
        "",
        "a",
        "b",
        "zz",
        "~",
        "\xc3\xa9",
        "/",
        "/a",
        "/a-1",
        "/b",
        "//",
        "/a/",
        "/a/b-00000000000000000005",
        "/a/x",
        "/a/y",
        "/a//",
        "/a/x/1",
        "/a/x//",
        "/b/c",
        "a/b/c",
        "b/c"
    };
    std::vector<std::string> shuffled(sample.rbegin(), sample.rend());
    std::swap(shuffled[3], shuffled[11]);
    put_all(shuffled);
    EXPECT_EQ(list("", ""), sample);
    EXPECT_EQ(scan_keys("", ""), sample);
}

TEST_P(MetadataContract, Case16ChildrenAreOneRange) {
    put_all({"/p", "/p/", "/p/a", "/p/b", "/p/b/c", "/pa/x", "/q/a"});
    EXPECT_THAT(list("/p/", "/p//"), ElementsAre("/p/", "/p/a", "/p/b"));
}

TEST_P(MetadataContract, Case17OpenAndEmptyRanges) {
    put_all({"a", "b", "c"});
    for (const bool listed : {true, false}) {
        const auto keys = [&](std::string begin, std::string end) {
            return listed ? list(std::move(begin), std::move(end))
                          : scan_keys(std::move(begin), std::move(end));
        };
        EXPECT_THAT(keys("", "c"), ElementsAre("a", "b"));
        EXPECT_THAT(keys("b", ""), ElementsAre("b", "c"));
        EXPECT_THAT(keys("", ""), ElementsAre("a", "b", "c"));
        EXPECT_THAT(keys("b", "b"), IsEmpty());
        EXPECT_THAT(keys("c", "a"), IsEmpty());
    }
}

TEST_P(MetadataContract, Case18NothingInternalIsSeen) {
    const SessionId session = open_session();
    ASSERT_TRUE(put({.key = "k", .session = session}).ok());
    EXPECT_THAT(list("", ""), ElementsAre("k"));
    EXPECT_THAT(scan_keys("", ""), ElementsAre("k"));
    EXPECT_EQ(near("k", Comparison::higher), "none");
    EXPECT_EQ(near("k", Comparison::lower), "none");
}

TEST_P(MetadataContract, Case19ComparisonGets) {
    put_all({"b", "d"});
    EXPECT_EQ(near("b", Comparison::floor), "b");
    EXPECT_EQ(near("b", Comparison::ceiling), "b");
    EXPECT_EQ(near("b", Comparison::lower), "none");
    EXPECT_EQ(near("b", Comparison::higher), "d");
    EXPECT_EQ(near("c", Comparison::floor), "b");
    EXPECT_EQ(near("c", Comparison::ceiling), "d");
    EXPECT_EQ(near("c", Comparison::lower), "b");
    EXPECT_EQ(near("c", Comparison::higher), "d");
    EXPECT_EQ(near("a", Comparison::floor), "none");
    EXPECT_EQ(near("a", Comparison::ceiling), "b");
    EXPECT_EQ(near("e", Comparison::floor), "d");
    EXPECT_EQ(near("e", Comparison::higher), "none");
    EXPECT_EQ(near("c", Comparison::equal), "none");
}

TEST_P(MetadataContract, Case20ComparisonGetsAcrossLevels) {
    put_all({"/a", "/p/a", "/p/b", "/p/b/c", "b/c"});
    EXPECT_EQ(near("/p//", Comparison::lower), "/p/b");
    EXPECT_EQ(near("/p/b", Comparison::higher), "/p/b/c");
    EXPECT_EQ(near("/p/", Comparison::floor), "/a");
    EXPECT_EQ(near("/z/", Comparison::ceiling), "b/c");
}

TEST_P(MetadataContract, Case23DeleteRange) {
    for (const int count : {99, 100, 101, 5000, 10'001}) {
        ShardBatch batch;
        for (int i = 0; i < count; ++i) {
            batch.puts.push_back({.key = "r/" + std::to_string(100'000 + i)});
        }
        batch.puts.push_back({.key = "r"});
        batch.puts.push_back({.key = "r/2"});
        ASSERT_TRUE(write(std::move(batch)).ok());
        ASSERT_TRUE(write({.puts = {}, .deletes = {}, .ranges = {{.begin = "r/1", .end = "r/2"}}}
        ).ok());
        EXPECT_THAT(list("", ""), ElementsAre("r", "r/2"));
        EXPECT_EQ(near("r/2", Comparison::lower), "r");
    }
}

TEST_P(MetadataContract, Case23LaterWritesSeeALargeRangeGone) {
    ShardBatch batch;
    for (int i = 0; i < 10'001; ++i) {
        batch.puts.push_back({.key = "s", .partition_key = "p", .sequence_deltas = {1}});
    }
    ASSERT_TRUE(write(std::move(batch)).ok());
    // Both wait for the store together: they may become one commit.
    auto removed = store().write(
        ShardId(0), {.puts = {}, .deletes = {}, .ranges = {{.begin = "s-", .end = "s-9"}}}
    );
    auto appended = store().write(
        ShardId(0),
        {.puts = {{.key = "s", .partition_key = "p", .sequence_deltas = {7}}},
         .deletes = {},
         .ranges = {}}
    );
    ASSERT_TRUE(under_test.wait(std::move(removed)).ok());
    EXPECT_EQ(under_test.wait(std::move(appended))->puts[0]->key, "s-00000000000000000007");
    EXPECT_THAT(list("", ""), ElementsAre("s-00000000000000000007"));
}

TEST_P(MetadataContract, Case24DeleteRangeOfNothing) {
    put_all({"a"});
    EXPECT_TRUE(write({.puts = {}, .deletes = {}, .ranges = {{.begin = "x", .end = "y"}}}).ok());
    EXPECT_TRUE(write({.puts = {}, .deletes = {}, .ranges = {{.begin = "y", .end = "a"}}}).ok());
    EXPECT_THAT(list("", ""), ElementsAre("a"));
    const auto refused = [this](std::string begin, std::string end) {
        return write({.puts = {},
                      .deletes = {},
                      .ranges = {{.begin = std::move(begin), .end = std::move(end)}}}
        ).is(ErrorCode::invalid_argument);
    };
    EXPECT_TRUE(refused("a", ""));
    EXPECT_TRUE(refused("__oxia/", "b"));
    EXPECT_TRUE(refused("a", "__oxia/x"));
}

TEST_P(MetadataContract, Case28SequenceVectors) {
    EXPECT_EQ(sequence_key("a", {5}), "a-00000000000000000005");
    EXPECT_EQ(sequence_key("a", {3}), "a-00000000000000000008");
    EXPECT_EQ(sequence_key("a", {6, 9}), "a-00000000000000000014-00000000000000000009");
    EXPECT_TRUE(sequence("a", {2}).is(ErrorCode::invalid_argument));
    EXPECT_EQ(
        sequence_key("a", {6, 9, 15}),
        "a-00000000000000000020-00000000000000000018-00000000000000000015"
    );
    EXPECT_EQ(sequence_key("/a/b", {1, 0}), "/a/b-00000000000000000001-00000000000000000000");
    EXPECT_EQ(get("a-00000000000000000005")->version.modifications, 0);
}

TEST_P(MetadataContract, Case29SequenceNeighbours) {
    put_all({"b", "b+xxxx", "bb-00000000000000000077", "c/x", "/b-00000000000000000099"});
    EXPECT_EQ(sequence_key("b", {2}), "b-00000000000000000002");
    ASSERT_TRUE(put("b-00000000000000000002/child").ok());
    ASSERT_TRUE(put("b-00000000000000000002").ok());  // written again, as compaction does
    EXPECT_EQ(sequence_key("b", {2}), "b-00000000000000000004");
    // Hazards of names that the servers have too.
    ASSERT_TRUE(put("b-18").ok());
    EXPECT_EQ(sequence_key("b", {1}), "b-00000000000000000019");
    ASSERT_TRUE(remove("b-18").ok());
    ASSERT_TRUE(remove("b-00000000000000000019").ok());
    EXPECT_EQ(sequence_key("b", {1}), "b-00000000000000000005");
    ASSERT_TRUE(put("q-1").ok());
    ASSERT_TRUE(put("q-00000000000000000002", "old").ok());
    const auto overwritten = sequence("q", {1});
    EXPECT_EQ(overwritten->key, "q-00000000000000000002");
    EXPECT_EQ(overwritten->version.modifications, 0);
    EXPECT_TRUE(get("q-00000000000000000002")->value.empty());
}

TEST_P(MetadataContract, Case29ASequenceUnderAnothersName) {
    EXPECT_EQ(sequence_key("q", {5}), "q-00000000000000000005");
    EXPECT_EQ(sequence_key("q-1", {3}), "q-1-00000000000000000003");
    EXPECT_TRUE(sequence("q", {1}).is(ErrorCode::invalid_argument));
    EXPECT_EQ(sequence_key("q", {1, 1}), "q-00000000000000000002-00000000000000000004");
}

TEST_P(MetadataContract, Case29SequencesGoOnFromWhatIsThere) {
    EXPECT_EQ(sequence_key("s", {5, 1}), "s-00000000000000000005-00000000000000000001");
    ASSERT_TRUE(put("s-00000000000000000104-00000000000000005000").ok());
    EXPECT_EQ(sequence_key("s", {1, 5}), "s-00000000000000000105-00000000000000005005");
    ASSERT_TRUE(write({.puts = {}, .deletes = {}, .ranges = {{.begin = "s-", .end = "s."}}}).ok());
    EXPECT_EQ(sequence_key("s", {2, 2}), "s-00000000000000000002-00000000000000000002");
}

TEST_P(MetadataContract, Case30SequencePutsOfOneBatch) {
    const auto done = write({
        .puts =
            {{.key = "a", .partition_key = "p", .sequence_deltas = {5}},
             {.key = "b", .partition_key = "q", .sequence_deltas = {2}},
             {.key = "a", .partition_key = "r", .sequence_deltas = {3}}},
        .deletes = {},
        .ranges = {},
    });
    EXPECT_EQ(done->puts[0]->key, "a-00000000000000000005");
    EXPECT_EQ(done->puts[1]->key, "b-00000000000000000002");
    EXPECT_EQ(done->puts[2]->key, "a-00000000000000000008");
}

TEST_P(MetadataContract, Case31ManyWritersOneSequence) {
    std::vector<rt::Future<Result<ShardBatchDone>>> pending;
    for (int i = 0; i < 4000; ++i) {
        pending.push_back(store().write(
            ShardId(0),
            {.puts = {{.key = "s", .partition_key = "p", .sequence_deltas = {1}}},
             .deletes = {},
             .ranges = {}}
        ));
    }
    std::optional<VersionId> last;
    for (int i = 0; i < 4000; ++i) {
        const auto done = under_test.wait(std::move(pending[static_cast<std::size_t>(i)]));
        ASSERT_TRUE(done.ok());
        EXPECT_EQ(std::stoi(done->puts[0]->key.substr(2)), i + 1);
        EXPECT_GT(done->puts[0]->version.id, last.value_or(VersionId(-1)));
        last = done->puts[0]->version.id;
    }
    EXPECT_EQ(list("s-", "s.").size(), 4000U);
}

TEST_P(MetadataContract, Case32SequenceWithExpectation) {
    const auto done = put(
        Put{.key = "s", .expect = Expect::absent(), .partition_key = "p", .sequence_deltas = {1}}
    );
    EXPECT_TRUE(done.is(ErrorCode::conflict));
    EXPECT_THAT(list("", ""), IsEmpty());
}

TEST_P(MetadataContract, Case33MalformedSequencePuts) {
    const VersionId before = sequence("s", {1, 1})->version.id;
    EXPECT_TRUE(put(Put{.key = "s", .sequence_deltas = {1, 1}}).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(sequence("s", {0, 1}).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(sequence("s", {1}).is(ErrorCode::invalid_argument));
    if (GetParam() == StoreKind::embedded) {
        under_test.reopen();
    }
    const auto next = sequence("s", {1, 1});
    EXPECT_EQ(next->key, "s-00000000000000000002-00000000000000000002");
    EXPECT_EQ(next->version.id, VersionId(before.v + 1));
}

TEST_P(MetadataContract, Case34SequenceOverflow) {
    ASSERT_TRUE(put("s-18446744073709551613").ok());
    EXPECT_EQ(sequence_key("s", {1}), "s-18446744073709551614");
    EXPECT_TRUE(sequence("s", {1}).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(sequence("s", {2}).is(ErrorCode::invalid_argument));
}

TEST_P(MetadataContract, Case38EphemeralRecords) {
    watch();
    const SessionId session = open_session(10s, "writer");
    ASSERT_TRUE(put({.key = "k", .session = session, .identity = "writer"}).ok());
    ASSERT_TRUE(
        put(Put{.key = "s", .partition_key = "p", .sequence_deltas = {4}, .session = session}).ok()
    );
    EXPECT_EQ(get("k")->version.session, session);
    EXPECT_EQ(get("k")->version.identity, "writer");
    ASSERT_TRUE(under_test.wait(store().close_session(session)).ok());
    EXPECT_THAT(list("", ""), IsEmpty());
    EXPECT_THAT(
        seen(),
        ElementsAre("", "cv:k ", "cv:s-00000000000000000004 ", "d:k d:s-00000000000000000004 ")
    );
    EXPECT_EQ(sequence_key("s", {4}), "s-00000000000000000004");  // its number is free again
}

TEST_P(MetadataContract, Case39SessionsLiveWhileTheirNodeDoes) {
    const SessionId session = open_session(2s);
    ASSERT_TRUE(put({.key = "k", .session = session}).ok());
    under_test.sim.loop.run_for(10s);
    EXPECT_TRUE(get("k").ok());
    under_test.abandon();
    under_test.sim.loop.run_for(1500ms);
    EXPECT_TRUE(get("k").ok());
    under_test.sim.loop.run_for(2500ms);
    EXPECT_TRUE(get("k").is(ErrorCode::not_found));
    EXPECT_TRUE(under_test.wait(store().close_session(session)).is(ErrorCode::not_found));
}

TEST_P(MetadataContract, Case40OverwritingEphemeralRecords) {
    const SessionId one = open_session();
    const SessionId two = open_session();
    for (const std::string key : {"plain", "moved", "deleted", "ranged"}) {
        ASSERT_TRUE(put({.key = key, .session = one}).ok());
    }
    ASSERT_TRUE(put("plain").ok());
    ASSERT_TRUE(put({.key = "moved", .session = two}).ok());
    ASSERT_TRUE(
        write({.puts = {}, .deletes = {{.key = "deleted"}}, .ranges = {{.begin = "r", .end = "s"}}}
        ).ok()
    );
    put_all({"deleted", "ranged"});
    ASSERT_TRUE(under_test.wait(store().close_session(one)).ok());
    EXPECT_THAT(list("", ""), ElementsAre("deleted", "moved", "plain", "ranged"));
    EXPECT_FALSE(get("plain")->version.session.has_value());
    ASSERT_TRUE(under_test.wait(store().close_session(two)).ok());
    EXPECT_THAT(list("", ""), ElementsAre("deleted", "plain", "ranged"));
}

TEST_P(MetadataContract, Case41UnknownSession) {
    const VersionId version = put("k")->version.id;
    EXPECT_TRUE(put({.key = "l", .session = SessionId(99)}).is(ErrorCode::lease_lost));
    EXPECT_TRUE(put({.key = "k", .expect = Expect::absent(), .session = SessionId(99)})
                    .is(ErrorCode::conflict));
    EXPECT_TRUE(
        put(Put{.key = "s", .partition_key = "p", .sequence_deltas = {1}, .session = SessionId(99)})
            .is(ErrorCode::lease_lost)
    );
    EXPECT_EQ(sequence_key("s", {1}), "s-00000000000000000001");
    EXPECT_EQ(put("k")->version.id, VersionId(version.v + 2));
}

TEST_P(MetadataContract, Case42SessionTimeouts) {
    const auto open = [this](Duration timeout) {
        return under_test.wait(store().open_session(timeout, "me", nullptr));
    };
    EXPECT_TRUE(open(1s).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(open(6min).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(open(2s).ok());
    EXPECT_TRUE(open(5min).ok());
}

TEST_P(MetadataContract, Case43CloseOfUnknownSession) {
    EXPECT_TRUE(under_test.wait(store().close_session(SessionId(7))).is(ErrorCode::not_found));
}

TEST_P(MetadataContract, Case49Notifications) {
    watch();
    ASSERT_TRUE(put("k").ok());
    ASSERT_TRUE(put("k").ok());
    ASSERT_TRUE(remove("k").ok());
    ASSERT_TRUE(write({.puts = {}, .deletes = {}, .ranges = {{.begin = "a", .end = "z"}}}).ok());
    EXPECT_FALSE(put("x", "v", Expect::at(VersionId(77))).ok());
    EXPECT_THAT(seen(), ElementsAre("cv:k ", "mv:k ", "d:k ", "r:a..z ", ""));
}

TEST_P(MetadataContract, Case50OneNotificationForEachKey) {
    watch();
    ASSERT_TRUE(write({
                          .puts = {{.key = "z"}, {.key = "k"}, {.key = "k"}, {.key = "a"}},
                          .deletes = {{.key = "z"}},
                          .ranges = {},
                      })
                    .ok());
    EXPECT_THAT(seen(), ElementsAre("cv:a mv:k d:z "));
}

TEST_P(MetadataContract, Case51SubscriptionSeesOnlyWhatFollows) {
    ASSERT_TRUE(put("before").ok());
    watch();
    ASSERT_TRUE(put("after").ok());
    EXPECT_THAT(seen(), ElementsAre("cv:after "));
    subscription.reset();
    ASSERT_TRUE(put("later").ok());
    EXPECT_THAT(seen(), IsEmpty());
}

TEST_P(MetadataContract, Case53SessionsAdvanceTheLog) {
    watch();
    ASSERT_TRUE(put("k").ok());
    const SessionId session = open_session();
    ASSERT_TRUE(put("k").ok());
    EXPECT_THAT(seen(), ElementsAre("cv:k ", "", "mv:k "));
    EXPECT_EQ(session, SessionId(offsets[1]));
    EXPECT_THAT(offsets, ElementsAre(session.v - 1, session.v, session.v + 1));
}

TEST_P(MetadataContract, Case66Keys) {
    put_all({"\xf0\x9f\x90\x9f", "\xe2\x82\xac", "\xc3\xa9", std::string("nul\0key", 7)});
    EXPECT_THAT(
        list("", ""),
        ElementsAre(std::string("nul\0key", 7), "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\x9f")
    );
    for (const std::string key :
         {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "__oxia/x"}) {
        EXPECT_TRUE(put(key).is(ErrorCode::invalid_argument));
        EXPECT_TRUE(remove(key).is(ErrorCode::invalid_argument));
        EXPECT_TRUE(get(key).is(ErrorCode::invalid_argument));
    }
    EXPECT_TRUE(put("__oxia").ok());
}

TEST_P(MetadataContract, RefusesBatchesAboveTheLimits) {
    ShardBatch many;
    many.deletes.resize(batch_operations_max, {.key = "k", .expect = Expect::absent()});
    EXPECT_TRUE(write(many).ok());
    many.deletes.push_back({.key = "k"});
    EXPECT_TRUE(write(std::move(many)).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(put("k", std::string(batch_bytes_max - 1, 'x')).ok());
    EXPECT_TRUE(put("k", std::string(batch_bytes_max, 'x')).is(ErrorCode::invalid_argument));
    EXPECT_TRUE(under_test.wait(store().write(ShardId(1), {})).is(ErrorCode::invalid_argument));
}

TEST_P(MetadataContract, ScansAreSnapshots) {
    ShardBatch batch;
    for (int i = 0; i < 1500; ++i) {
        batch.puts.push_back({.key = std::to_string(10'000 + i), .value = Bytes::copy("old")});
    }
    ASSERT_TRUE(write(batch).ok());
    const auto scan = store().scan({});
    std::vector<Record> all = under_test.wait(scan->next()).value();
    EXPECT_LT(all.size(), 1500U);
    batch.puts[1400].value = Bytes::copy("new");
    batch.deletes.push_back({.key = "11450"});
    batch.puts.push_back({.key = "12000"});
    ASSERT_TRUE(write(std::move(batch)).ok());
    while (true) {
        const auto page = under_test.wait(scan->next()).value();
        if (page.empty()) {
            break;
        }
        all.insert(all.end(), page.begin(), page.end());
    }
    ASSERT_EQ(all.size(), 1500U);
    EXPECT_TRUE(std::ranges::all_of(all, [](const Record& r) { return r.value.view() == "old"; }));
}

TEST_P(MetadataContract, ReadAllHasALimit) {
    put_all({"a", "b", "c"});
    EXPECT_EQ(under_test.run(read_all(store(), {}, 3))->size(), 3U);
    EXPECT_TRUE(under_test.run(read_all(store(), {}, 2)).is(ErrorCode::exhausted));
}

}  // namespace
}  // namespace lakestream::meta
