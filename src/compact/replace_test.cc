// SPDX-License-Identifier: Apache-2.0
// Replacing under readers, crashes between all steps, and two compactors.
#include "compact/replace.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/format.h"
#include "base/log.h"
#include "codec/testing/golden.h"
#include "index/key.h"
#include "index/record.h"
#include "log/testing/cluster.h"
#include "log/testing/memory_compacted.h"
#include "meta/testing/dying_store.h"
#include "meta/testing/faulty_metadata.h"

namespace lakestream::compact {
namespace {

using log::MemoryCompacted;
using log::TestCluster;
using meta::testing::DyingStore;
using nlohmann::json;

constexpr LogId log_a(7);

const bool quiet = [] {
    log::set_sink(
        [](log::Level, std::string_view, std::string_view) noexcept {}, log::Level::error
    );
    return true;
}();

rt::Task<bool> append_texts(log::Engine& engine, int begin, int end) {
    for (int i = begin; i < end; ++i) {
        rt::Executor& executor = co_await rt::this_executor();
        std::vector<log::AppendRequest> requests(1);
        requests[0].log = log_a;
        requests[0].payload = Bytes::copy(std::to_string(i));
        requests[0].records = 1 + i % 3;
        if (!(co_await engine.append(std::move(requests), executor.now() + 30s)).front().ok()) {
            co_return false;
        }
    }
    co_return true;
}

/// Every entry readable from `from` on; empty on an error.
rt::Task<std::vector<std::string>> read_from(log::Engine& engine, Offset from) {
    std::vector<std::string> texts;
    while (true) {
        std::vector<log::ReadRequest> requests{{.log = log_a, .from = from, .bytes_max = 10}};
        auto results = co_await engine.read(std::move(requests));
        if (!results.front().ok()) {
            co_return std::vector<std::string>{results.front().error().to_string()};
        }
        const log::ReadBatch& batch = *results.front();
        if (batch.entries.empty()) {
            co_return texts;
        }
        for (const log::ReadEntry& entry : batch.entries) {
            from = entry.range.end;
            if (!entry.is_void) {
                texts.emplace_back(entry.payload.view());
            }
        }
    }
}

/// Write the "files" of [cursor, end) and return the intent.
rt::Task<Intent> prepare(
    log::NodeEngine& engine, MemoryCompacted& files, Offset cursor, Offset end
) {
    Intent intent{
        .range = {cursor, end},
        .location = "ursa-" + std::to_string(files.files.size()),
        .entries = 0
    };
    std::vector<log::CompactedPart>& parts = files.files[intent.location];
    Offset from = cursor;
    while (from < end) {
        std::vector<log::ReadRequest> requests{{.log = log_a, .from = from, .bytes_max = 1000}};
        const auto results = co_await engine.read(std::move(requests));
        for (const log::ReadEntry& entry : results.front()->entries) {
            from = entry.range.end;
            if (!entry.is_void && entry.range.end <= end) {
                parts.push_back({entry.range, entry.created, entry.payload});
                intent.payload_bytes += static_cast<std::int64_t>(entry.payload.size());
                ++intent.entries;
            }
        }
    }
    co_return intent;
}

rt::Task<Status> compact_to(
    log::NodeEngine& engine, meta::MetadataStore& store, MemoryCompacted& files, Offset end
) {
    StoredState state = LKS_CO_TRY(co_await load_state(store, log_a));
    if (state.state.intent.has_value()) {
        LKS_CO_TRY(co_await finish_replace(store, log_a, state));
        state = LKS_CO_TRY(co_await load_state(store, log_a));
    }
    if (state.state.cursor >= end) {
        co_return Status();
    }
    const log::Checkpoint saved =
        LKS_CO_TRY(co_await engine.checkpoint(log_a, {state.state.cursor, end}));
    EXPECT_GE(saved.end, end);
    Intent intent = co_await prepare(engine, files, state.state.cursor, end);
    state = LKS_CO_TRY(co_await begin_replace(store, log_a, state, std::move(intent)));
    co_return co_await finish_replace(store, log_a, state);
}

std::vector<std::string> numbers(int begin, int end) {
    std::vector<std::string> texts;
    for (int i = begin; i < end; ++i) {
        texts.push_back(std::to_string(i));
    }
    return texts;
}

/// Ends of the log's index records, in order.
rt::Task<std::vector<Offset>> ends(log::NodeEngine& engine) {
    std::vector<Offset> all;
    const auto walked = co_await engine.walk(log_a, Offset(0), 10'000);
    for (const log::WalkRecord& record : *walked) {
        all.push_back(record.range.end);
    }
    co_return all;
}

/// A node that has written 20 entries, each with an index record of its own.
class Written {
  public:
    explicit Written(std::uint64_t seed) : cluster(seed), node(add_node()) {
        EXPECT_TRUE(run(append_texts(*node.engine, 0, 20)));
        ends_written = run(ends(*node.engine));
        EXPECT_EQ(ends_written.size(), 20U);
    }

    template <class T>
    T run(rt::Task<T> task) {
        return cluster.run(node.home(), std::move(task));
    }
    /// Up to the end of an index record that it has written.
    Status compact(meta::MetadataStore& store, std::size_t last) {
        return run(compact_to(*node.engine, store, files, ends_written.at(last)));
    }
    std::vector<std::string> read(Offset from) { return run(read_from(*node.engine, from)); }

    TestCluster cluster;
    MemoryCompacted files;
    TestCluster::Node& node;
    std::vector<Offset> ends_written;

  private:
    TestCluster::Node& add_node() {
        cluster.compacted = &files;
        cluster.settings.tail_cache_bytes_max = 0;
        return cluster.add_node(1);
    }
};

TEST(Intent, round_trips_and_refuses_damage) {
    const CompactState state{
        .cursor = Offset(5),
        .intent = Intent{{Offset(5), Offset(9)}, "ursa-1.parquet", 100, 4, 1700, 0xcafe},
    };
    const Bytes stored = encode_state(state);
    EXPECT_EQ(decode_state(stored).value(), state);
    CompactState merging = state;
    merging.cursor = Offset(20);
    EXPECT_EQ(decode_state(encode_state(merging)).value(), merging);
    merging.cursor = Offset(8);  // neither at its begin nor at its end
    EXPECT_FALSE(decode_state(encode_state(merging)).ok());
    EXPECT_EQ(decode_state(encode_state({.cursor = Offset(3), .intent = {}}))->cursor, Offset(3));
    for (std::size_t size = 0; size < stored.size(); ++size) {
        EXPECT_FALSE(decode_state(stored.slice(0, size)).ok()) << size;
    }
    CompactState unknown = state;
    unknown.intent->max_timestamp.reset();
    EXPECT_EQ(decode_state(encode_state(unknown)).value(), unknown);
}

TEST(Intent, of_version_1_has_no_newest_timestamp) {
    const std::string_view cursor = "010000000000000005";
    const std::string_view intent =
        "0000000000000005000000000000000900000000000000640000000000000004"
        "0e757273612d312e70617271756574";
    const CompactState state{
        .cursor = Offset(5),
        .intent = Intent{{Offset(5), Offset(9)}, "ursa-1.parquet", 100, 4, std::nullopt},
    };
    const auto stored = [&](std::string_view has_intent, std::string_view rest) {
        return codec::from_hex(fmt::format("{}{}{}", cursor, has_intent, rest));
    };
    EXPECT_EQ(decode_state(stored("01", intent)).value(), state);
    EXPECT_EQ(decode_state(stored("00", "")).value().intent, std::nullopt);
    EXPECT_FALSE(decode_state(stored("01", fmt::format("{}00", intent))).ok());
}

/// The golden value that `intent` stands for.
json golden_value(const Intent& intent) {
    for (const json& value : codec::golden_json("index/values.json")) {
        if (value.at("name") == "parquet-one-file") {
            EXPECT_EQ(value.at("location"), intent.location);
            return value;
        }
    }
    return {};
}

TEST(Replace, the_compacted_value_is_that_of_other_engines_and_our_extension) {
    Intent intent{
        .range = {Offset(0), Offset(100)},
        .location = "ursa-00000000-0000-4000-8000-0000000000aa.parquet",
        .payload_bytes = 5000,
        .entries = 10,
    };
    const std::string golden = golden_value(intent).at("value_hex");
    EXPECT_EQ(codec::to_hex(compacted_value(intent)), golden);
    intent.max_timestamp = 8;
    EXPECT_EQ(codec::to_hex(compacted_value(intent)), golden + "a20607" + "01000000001000");
    const auto record = index::IndexRecord::decode(compacted_value(intent));
    EXPECT_EQ(record->extension, index::Extension{.max_timestamp = 8});
}

TEST(Replace, reads_are_right_at_every_offset_after_a_crash_at_every_step) {
    for (int writes = 0; writes <= 5; ++writes) {
        SCOPED_TRACE(writes);
        Written one(static_cast<std::uint64_t>(writes) + 1);
        DyingStore dying(one.node.client, writes);
        const Status first = one.compact(dying, 9);
        EXPECT_EQ(first.ok(), writes >= 5) << first.error().to_string();
        EXPECT_EQ(one.read(Offset(0)), numbers(0, 20));
        for (std::size_t i = 0; i < one.ends_written.size(); ++i) {
            EXPECT_EQ(one.read(one.ends_written[i]), numbers(static_cast<int>(i) + 1, 20));
        }
        // Another compactor takes over and goes further.
        ASSERT_TRUE(one.compact(one.node.client, 14).ok());
        if (one.run(load_state(one.node.client, log_a))->state.cursor < one.ends_written[14]) {
            ASSERT_TRUE(one.compact(one.node.client, 14).ok());
        }
        const auto after = one.run(ends(*one.node.engine));
        EXPECT_LE(after.size(), 7U);
        EXPECT_EQ(one.read(Offset(0)), numbers(0, 20));
        // A new node folds from the snapshot and reads the same; appends go on.
        one.cluster.stop(one.node);
        auto& next = one.cluster.add_node(1);
        ASSERT_TRUE(one.cluster.run(next.home(), append_texts(*next.engine, 20, 22)));
        EXPECT_EQ(one.cluster.run(next.home(), read_from(*next.engine, Offset(0))), numbers(0, 22));
    }
}

TEST(Replace, a_scan_that_ends_early_deletes_nothing_that_is_not_covered) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        Written one(seed);
        meta::testing::FaultyMetadata stale(
            one.node.client, one.node.home(), one.node.home(), {.cut_scan = {1, 2}}, seed
        );
        Status done = unavailable("not tried");
        while (!done.ok()) {
            done = one.compact(stale, 14);
            EXPECT_EQ(one.read(Offset(0)), numbers(0, 20));
        }
        EXPECT_EQ(one.run(ends(*one.node.engine)).size(), 6U);
    }
}

rt::Task<bool> compact_often(
    log::NodeEngine& engine, meta::MetadataStore& store, MemoryCompacted& files, std::uint64_t seed
) {
    rt::Executor& executor = co_await rt::this_executor();
    rt::Rng rng(seed);
    for (int round = 0; round < 30; ++round) {
        const auto all = co_await ends(engine);
        if (all.size() > 2) {
            const Offset end = all[all.size() / 2];
            static_cast<void>(co_await compact_to(engine, store, files, end));
        }
        co_await rt::sleep_until(executor.now() + std::chrono::milliseconds(rng.below(20)));
    }
    co_return true;
}

TEST(Replace, two_compactors_and_a_lagging_node_agree) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        TestCluster cluster(seed);
        MemoryCompacted files_a;
        cluster.compacted = &files_a;
        cluster.settings.tail_cache_bytes_max = 0;
        cluster.settings.snapshot_records = 5;
        cluster.settings.shared_metadata = true;
        auto& a = cluster.add_node(1);
        auto& b = cluster.add_node(1);
        auto& lagging = cluster.add_node(1);
        cluster.flakiness.delay_max = 5ms;
        ASSERT_TRUE(cluster.run(lagging.home(), append_texts(*lagging.engine, 0, 3)));
        lagging.executors.front()->pause(cluster.loop.now() + 20s);
        auto first =
            rt::submit(a.home(), compact_often(*a.engine, a.flaky_metadata, files_a, seed));
        auto second =
            rt::submit(b.home(), compact_often(*b.engine, b.flaky_metadata, files_a, seed + 100));
        ASSERT_TRUE(cluster.run(a.home(), append_texts(*a.engine, 3, 60)));
        cluster.loop.run_for(30s);
        for (const auto& node : cluster.nodes) {
            EXPECT_EQ(
                cluster.run(node->home(), read_from(*node->engine, Offset(0))), numbers(0, 60)
            );
        }
    }
}

/// Merge everything that is compacted; the end of what was merged.
rt::Task<Status> merge_all(
    log::NodeEngine& engine, meta::MetadataStore& store, MemoryCompacted& files
) {
    StoredState state = LKS_CO_TRY(co_await load_state(store, log_a));
    if (state.state.intent.has_value()) {
        LKS_CO_TRY(co_await finish_replace(store, log_a, state));
        state = LKS_CO_TRY(co_await load_state(store, log_a));
    }
    Intent intent = co_await prepare(engine, files, Offset(0), state.state.cursor);
    state = LKS_CO_TRY(co_await begin_replace(store, log_a, state, std::move(intent)));
    co_return co_await finish_replace(store, log_a, state);
}

TEST(Replace, a_merge_is_right_after_a_crash_at_every_step) {
    constexpr int steps = 4;
    for (int writes = 0; writes <= steps; ++writes) {
        SCOPED_TRACE(writes);
        Written one(static_cast<std::uint64_t>(writes) + 1);
        for (const std::size_t last : {3U, 7U, 12U}) {
            ASSERT_TRUE(one.compact(one.node.client, last).ok());
        }
        DyingStore dying(one.node.client, writes);
        const Status first = one.run(merge_all(*one.node.engine, dying, one.files));
        EXPECT_EQ(first.ok(), writes >= steps);
        const auto check = [&](log::NodeEngine& engine, rt::Executor& home) {
            for (std::size_t i = 0; i < one.ends_written.size(); ++i) {
                EXPECT_EQ(
                    one.cluster.run(home, read_from(engine, one.ends_written[i])),
                    numbers(static_cast<int>(i) + 1, 20)
                );
            }
            EXPECT_EQ(one.cluster.run(home, read_from(engine, Offset(0))), numbers(0, 20));
        };
        check(*one.node.engine, one.node.home());
        // Whoever comes next finishes it and goes on compacting.
        ASSERT_TRUE(one.compact(one.node.client, 16).ok());
        const auto after = one.run(ends(*one.node.engine));
        EXPECT_EQ(after.size(), writes == 0 ? 7U : 5U);
        EXPECT_EQ(
            one.run(load_state(one.node.client, log_a))->state,
            (CompactState{.cursor = one.ends_written[16], .intent = {}})
        );
        check(*one.node.engine, one.node.home());
        one.cluster.stop(one.node);
        auto& next = one.cluster.add_node(1);
        check(*next.engine, next.home());
    }
}

TEST(Replace, a_compactor_that_slept_through_a_merge_changes_nothing) {
    Written one(1);
    const auto compact = [&](std::size_t last) { return one.compact(one.node.client, last).ok(); };
    ASSERT_TRUE(compact(3));
    // It has decided to go to 7, and sleeps; others finish that, merge, and go on.
    DyingStore dying(one.node.client, 1);
    EXPECT_FALSE(one.compact(dying, 7).ok());
    const auto sleeping = one.run(load_state(one.node.client, log_a));
    ASSERT_TRUE(sleeping->state.intent.has_value());
    ASSERT_TRUE(compact(7));
    ASSERT_TRUE(one.run(merge_all(*one.node.engine, one.node.client, one.files)).ok());
    EXPECT_FALSE(one.run(finish_replace(one.node.client, log_a, *sleeping)).ok());
    EXPECT_EQ(one.read(Offset(0)), numbers(0, 20));
    EXPECT_EQ(one.run(ends(*one.node.engine)).size(), 13U);
}

/// As retention does: the log's first `count` index records go, and it starts at `start`.
rt::Task<Status> trim(TestCluster::Node& node, std::size_t count, Offset start) {
    const auto walked = co_await node.engine->walk(log_a, Offset(0), count);
    for (const log::WalkRecord& record : *walked) {
        const index::IndexKey key{log_a, record.range.end, record.cumulative};
        LKS_CO_TRY(co_await meta::remove(
            node.client, {.key = key.to_string()}, index::partition_key(log_a)
        ));
    }
    const auto put = co_await meta::put(
        node.client,
        {.key = index::mark_key(log_a),
         .value = Bytes::own(std::to_string(start.v)),
         .partition_key = index::partition_key(log_a)}
    );
    co_return put.ok() ? Status() : Status(put.error());
}

TEST(Replace, an_intent_whose_range_was_trimmed_is_ended) {
    Written one(1);
    DyingStore dying(one.node.client, 1);
    EXPECT_FALSE(one.compact(dying, 7).ok());
    ASSERT_TRUE(one.run(trim(one.node, 8, one.ends_written[7])).ok());
    const auto found = one.run(load_state(one.node.client, log_a));
    EXPECT_TRUE(one.run(finish_replace(one.node.client, log_a, *found)).ok());
    EXPECT_EQ(
        one.run(load_state(one.node.client, log_a))->state,
        (CompactState{.cursor = one.ends_written[7], .intent = {}})
    );
}

/// Fenced and purged, as dropping its stream leaves it.
rt::Task<Status> delete_log(meta::MetadataStore& store) {
    const std::string partition = index::partition_key(log_a);
    LKS_CO_TRY(co_await meta::put(
        store, {.key = index::fence_key(log_a), .value = {}, .partition_key = partition}
    ));
    meta::ShardBatch batch;
    batch.ranges.push_back({.begin = index::bound_first(log_a), .end = index::bound_last(log_a)});
    batch.deletes.push_back({.key = state_key(log_a)});
    const auto done = co_await store.write(store.shard_of(partition), std::move(batch));
    co_return done.ok() ? Status() : Status(done.error());
}

TEST(Replace, an_intent_for_a_log_that_was_deleted_is_ended) {
    Written one(1);
    ASSERT_TRUE(one.run(delete_log(one.node.client)).ok());
    const auto begun = one.run(begin_replace(
        one.node.client, log_a, {}, {.range = {Offset(0), one.ends_written[7]}, .location = "late"}
    ));
    ASSERT_TRUE(begun.ok());
    const auto finished = [&] { return one.run(load_finished(one.node.client, log_a)); };
    EXPECT_TRUE(finished().is(ErrorCode::fenced));
    ASSERT_TRUE(finished().ok());  // nothing is left of it
    EXPECT_FALSE(finished()->version.has_value());
}

/// The same idempotent batches through both nodes: what comes second is void, or answered.
rt::Task<bool> append_twice(log::Engine& a, log::Engine& b, int end) {
    rt::Executor& executor = co_await rt::this_executor();
    for (int i = 0; i < end; ++i) {
        const auto request = [&] {
            std::vector<log::AppendRequest> requests(1);
            requests[0].log = log_a;
            requests[0].payload = Bytes::copy(std::to_string(i));
            requests[0].records = 1;
            requests[0].producer = log::ProducerStamp{.id = 5, .epoch = 0, .base_sequence = i};
            return requests;
        };
        auto first = a.append(request(), executor.now() + 30s);
        auto second = b.append(request(), executor.now() + 30s);
        if (!(co_await std::move(first)).front().ok()) {
            co_return false;
        }
        co_await std::move(second);
    }
    co_return true;
}

/// Whoever reads while voids are forgotten sees each entry once.
rt::Task<bool> read_often(log::Engine& engine, const bool& done) {
    rt::Executor& executor = co_await rt::this_executor();
    bool right = true;
    while (!done) {
        const auto texts = co_await read_from(engine, Offset(0));
        right = right && texts == numbers(0, static_cast<int>(texts.size()));
        EXPECT_TRUE(right) << testing::PrintToString(texts);
        co_await rt::sleep_until(executor.now() + 7ms);
    }
    co_return right;
}

TEST(Replace, voids_are_forgotten_once_they_are_compacted_and_never_read) {
    std::int64_t voids = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        TestCluster cluster(seed);
        MemoryCompacted files;
        cluster.compacted = &files;
        cluster.settings.tail_cache_bytes_max = 0;
        cluster.settings.shared_metadata = true;
        auto& a = cluster.add_node(1);
        auto& b = cluster.add_node(1);
        cluster.flakiness.delay_max = 5ms;
        bool done = false;
        auto reading_a = rt::submit(a.home(), read_often(*a.engine, done));
        auto reading_b = rt::submit(b.home(), read_often(*b.engine, done));
        auto compacting =
            rt::submit(a.home(), compact_often(*a.engine, a.flaky_metadata, files, seed));
        ASSERT_TRUE(cluster.run(a.home(), append_twice(*a.engine, *b.engine, 40)));
        cluster.loop.run_for(500ms);
        done = true;
        cluster.loop.run_for(500ms);
        for (const auto& node : cluster.nodes) {
            EXPECT_EQ(
                cluster.run(node->home(), read_from(*node->engine, Offset(0))), numbers(0, 40)
            );
        }
        const auto all = cluster.run(a.home(), ends(*a.engine));
        voids += all.back().v - 40;
        // The compactor's next save tells everybody what is forgotten.
        const Offset cursor = cluster.run(a.home(), load_state(a.client, log_a))->state.cursor;
        ASSERT_TRUE(cluster.run(a.home(), a.engine->checkpoint(log_a, {cursor, all.back()})).ok());
        ASSERT_TRUE(cluster.run(a.home(), append_texts(*a.engine, 40, 41)));
        cluster.stop(a);
        auto& next = cluster.add_node(1);
        const auto walked = cluster.run(next.home(), next.engine->walk(log_a, Offset(0), 10'000));
        ASSERT_TRUE(walked.ok());
        EXPECT_EQ(cluster.run(next.home(), read_from(*next.engine, Offset(0))), numbers(0, 41));
        EXPECT_FALSE(
            cluster.run(next.home(), next.engine->checkpoint(log_a, {Offset(0), cursor})).ok()
        );
    }
    EXPECT_GT(voids, 20);
}

}  // namespace
}  // namespace lakestream::compact
