// SPDX-License-Identifier: Apache-2.0
// Replacing under readers, crashes between all steps, and two compactors.
#include "compact/replace.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/log.h"
#include "log/testing/cluster.h"
#include "meta/testing/faulty_metadata.h"
#include "meta/testing/forwarding_store.h"

namespace lakestream::compact {
namespace {

using log::TestCluster;

constexpr LogId log_a(7);

const bool quiet = [] {
    log::set_sink(
        [](log::Level, std::string_view, std::string_view) noexcept {}, log::Level::error
    );
    return true;
}();

/// Compacted objects in memory.
class MemoryCompacted final : public log::CompactedSource {
  public:
    rt::Task<Result<std::vector<log::CompactedPart>>> read(
        LogId, index::IndexRecord record, OffsetRange, Offset from, std::uint64_t
    ) override {
        const auto file = files.find(record.location);
        if (file == files.end()) {
            co_return not_found("{}", record.location);
        }
        std::vector<log::CompactedPart> parts;
        for (const log::CompactedPart& part : file->second) {
            if (part.range.end > from) {
                parts.push_back(part);
            }
        }
        co_return parts;
    }

    std::map<std::string, std::vector<log::CompactedPart>> files;
};

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
    const Offset saved = LKS_CO_TRY(co_await engine.checkpoint(log_a));
    EXPECT_GE(saved, end);
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

TEST(Intent, round_trips_and_refuses_damage) {
    const CompactState state{
        .cursor = Offset(5),
        .intent = Intent{{Offset(5), Offset(9)}, "ursa-1.parquet", 100, 4},
    };
    const Bytes stored = encode_state(state);
    EXPECT_EQ(decode_state(stored).value(), state);
    EXPECT_EQ(decode_state(encode_state({.cursor = Offset(3), .intent = {}}))->cursor, Offset(3));
    for (std::size_t size = 0; size < stored.size(); ++size) {
        EXPECT_FALSE(decode_state(stored.slice(0, size)).ok()) << size;
    }
}

/// Applies so many writes, then is gone: a compactor's crash between any two steps.
class DyingStore final : public meta::testing::ForwardingStore {
  public:
    DyingStore(meta::MetadataStore& store, int writes)
        : ForwardingStore(store), writes_left(writes) {}

    rt::Future<Result<meta::ShardBatchDone>> write(meta::ShardId shard, meta::ShardBatch batch)
        override {
        if (writes_left-- <= 0) {
            return rt::Future<Result<meta::ShardBatchDone>>::ready(unavailable("crashed"));
        }
        return ForwardingStore::write(shard, std::move(batch));
    }
    int writes_left;
};

TEST(Replace, reads_are_right_at_every_offset_after_a_crash_at_every_step) {
    for (int writes = 0; writes <= 5; ++writes) {
        SCOPED_TRACE(writes);
        TestCluster cluster(static_cast<std::uint64_t>(writes) + 1);
        MemoryCompacted files;
        cluster.compacted = &files;
        cluster.settings.tail_cache_bytes_max = 0;
        auto& node = cluster.add_node(1);
        ASSERT_TRUE(cluster.run(node.home(), append_texts(*node.engine, 0, 20)));
        const auto before = cluster.run(node.home(), ends(*node.engine));
        ASSERT_EQ(before.size(), 20U);

        DyingStore dying(node.client, writes);
        const Status first =
            cluster.run(node.home(), compact_to(*node.engine, dying, files, before[9]));
        EXPECT_EQ(first.ok(), writes >= 5) << first.error().to_string();
        EXPECT_EQ(cluster.run(node.home(), read_from(*node.engine, Offset(0))), numbers(0, 20));
        for (std::size_t i = 0; i < before.size(); ++i) {
            EXPECT_EQ(
                cluster.run(node.home(), read_from(*node.engine, before[i])),
                numbers(static_cast<int>(i) + 1, 20)
            );
        }
        // Another compactor takes over and goes further.
        ASSERT_TRUE(
            cluster.run(node.home(), compact_to(*node.engine, node.client, files, before[14])).ok()
        );
        if (cluster.run(node.home(), load_state(node.client, log_a))->state.cursor < before[14]) {
            ASSERT_TRUE(
                cluster.run(node.home(), compact_to(*node.engine, node.client, files, before[14]))
                    .ok()
            );
        }
        const auto after = cluster.run(node.home(), ends(*node.engine));
        EXPECT_LE(after.size(), 7U);
        EXPECT_EQ(cluster.run(node.home(), read_from(*node.engine, Offset(0))), numbers(0, 20));
        // A new node folds from the snapshot and reads the same; appends go on.
        cluster.stop(node);
        auto& next = cluster.add_node(1);
        ASSERT_TRUE(cluster.run(next.home(), append_texts(*next.engine, 20, 22)));
        EXPECT_EQ(cluster.run(next.home(), read_from(*next.engine, Offset(0))), numbers(0, 22));
    }
}

TEST(Replace, a_scan_that_ends_early_deletes_nothing_that_is_not_covered) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        TestCluster cluster(seed);
        MemoryCompacted files;
        cluster.compacted = &files;
        cluster.settings.tail_cache_bytes_max = 0;
        auto& node = cluster.add_node(1);
        ASSERT_TRUE(cluster.run(node.home(), append_texts(*node.engine, 0, 20)));
        const auto before = cluster.run(node.home(), ends(*node.engine));
        meta::testing::FaultyMetadata stale(
            node.client, node.home(), node.home(), {.cut_scan = {1, 2}}, seed
        );
        Status done = unavailable("not tried");
        while (!done.ok()) {
            done = cluster.run(node.home(), compact_to(*node.engine, stale, files, before[14]));
            EXPECT_EQ(cluster.run(node.home(), read_from(*node.engine, Offset(0))), numbers(0, 20));
        }
        EXPECT_EQ(cluster.run(node.home(), ends(*node.engine)).size(), 6U);
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

}  // namespace
}  // namespace lakestream::compact
