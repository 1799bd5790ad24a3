// SPDX-License-Identifier: Apache-2.0
// The engine over memory stores: appends, reads, restarts, failures, and several engines at once.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <string>

#include "base/log.h"
#include "index/key.h"
#include "index/record.h"
#include "log/testing/cluster.h"

namespace lakestream::log {
namespace {

// Failures are the subject here: their log lines are not.
const bool quiet = [] {
    log::set_sink(
        [](log::Level, std::string_view, std::string_view) noexcept {}, log::Level::error
    );
    return true;
}();

AppendRequest entry(
    LogId log,
    const std::string& text,
    std::int32_t records = 1,
    std::optional<ProducerStamp> producer = {}
) {
    return {
        .log = log,
        .payload = Bytes::copy(text),
        .records = records,
        .max_timestamp = 1000,
        .producer = producer,
        .arrived = {},
    };
}

rt::Task<Result<Appended>> append(Engine& engine, AppendRequest request) {
    rt::Executor& executor = co_await rt::this_executor();
    std::vector<AppendRequest> requests;
    requests.push_back(std::move(request));
    auto results = co_await engine.append(std::move(requests), executor.now() + 30s);
    co_return std::move(results.front());
}

/// All readable entries from `from` on, as text.
rt::Task<Result<std::vector<std::string>>> read_all(Engine& engine, LogId log, Offset from) {
    std::vector<std::string> texts;
    while (true) {
        std::vector<ReadRequest> requests{{.log = log, .from = from, .bytes_max = 1 << 20}};
        auto results = co_await engine.read(std::move(requests));
        ReadBatch batch = LKS_CO_TRY(std::move(results.front()));
        if (batch.entries.empty()) {
            co_return texts;
        }
        for (const ReadEntry& read : batch.entries) {
            EXPECT_LE(read.range.begin, from);
            from = read.range.end;
            if (!read.is_void) {
                texts.emplace_back(read.payload.view());
            }
        }
    }
}

constexpr LogId log_a(7);
constexpr LogId log_b(12);

rt::Task<Result<std::int64_t>> size(Engine& engine, LogId log) {
    co_return std::move((co_await engine.sizes({log})).front());
}

rt::Task<Result<std::vector<ActiveProducer>>> producers(Engine& engine, LogId log) {
    co_return co_await engine.producers(log);
}

TEST(Engine, tells_sizes_and_producers_also_after_a_restart) {
    TestCluster cluster(1);
    auto& node = cluster.add_node();
    EXPECT_EQ(cluster.run(node.home(), size(*node.engine, log_a)).value(), 0);
    EXPECT_TRUE(cluster.run(node.home(), producers(*node.engine, log_a)).value().empty());
    for (int i = 0; i < 3; ++i) {
        const ProducerStamp stamp{.id = 5, .epoch = 1, .base_sequence = i * 2};
        const auto done =
            cluster.run(node.home(), append(*node.engine, entry(log_a, "12345", 2, stamp)));
        ASSERT_TRUE(done.ok()) << done.error().to_string();
    }
    ASSERT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_b, "1"))).ok());
    const auto check = [&](TestCluster::Node& asked) {
        EXPECT_EQ(cluster.run(asked.home(), size(*asked.engine, log_a)).value(), 15);
        EXPECT_EQ(cluster.run(asked.home(), size(*asked.engine, log_b)).value(), 1);
        const auto known = cluster.run(asked.home(), producers(*asked.engine, log_a)).value();
        ASSERT_EQ(known.size(), 1);
        EXPECT_EQ(known[0].id, 5);
        EXPECT_EQ(known[0].epoch, 1);
        EXPECT_EQ(known[0].last_sequence, 5);
        EXPECT_GT(known[0].seen, WallTime());
    };
    check(node);
    check(cluster.add_node());
}

TEST(Engine, appends_and_reads_back_from_memory_and_from_objects) {
    TestCluster cluster(1);
    auto& node = cluster.add_node();
    for (int i = 0; i < 5; ++i) {
        const auto done =
            cluster.run(node.home(), append(*node.engine, entry(log_a, std::to_string(i), 2)));
        ASSERT_TRUE(done.ok()) << done.error().to_string();
        EXPECT_EQ(done->offset, Offset(i * 2));
    }
    const std::vector<std::string> all{"0", "1", "2", "3", "4"};
    EXPECT_EQ(cluster.run(node.home(), read_all(*node.engine, log_a, Offset(0))).value(), all);
    EXPECT_EQ(node.flaky_objects.gets, 0U);

    cluster.stop(node);
    auto& next = cluster.add_node();
    EXPECT_EQ(cluster.run(next.home(), read_all(*next.engine, log_a, Offset(0))).value(), all);
    EXPECT_GT(next.flaky_objects.gets, 0U);
    EXPECT_EQ(
        cluster.run(next.home(), read_all(*next.engine, log_a, Offset(5))).value(),
        (std::vector<std::string>{"2", "3", "4"})
    );
    EXPECT_TRUE(cluster.run(next.home(), read_all(*next.engine, log_a, Offset(11)))
                    .is(ErrorCode::out_of_range));
}

rt::Task<std::vector<Result<Appended>>> append_many(
    Engine& engine, std::vector<AppendRequest> requests
) {
    rt::Executor& executor = co_await rt::this_executor();
    co_return co_await engine.append(std::move(requests), executor.now() + 30s);
}

rt::Task<Result<ReadBatch>> read_one(Engine& engine, ReadRequest request) {
    auto results = co_await engine.read({request});
    co_return std::move(results.front());
}

TEST(Engine, an_index_record_never_counts_more_records_than_it_can) {
    TestCluster cluster(1);
    auto& node = cluster.add_node();
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    std::vector<AppendRequest> requests;
    for (const char* const text : {"a", "b", "c"}) {
        requests.push_back(entry(log_a, text, most));
    }
    for (const auto& done :
         cluster.run(node.home(), append_many(*node.engine, std::move(requests)))) {
        EXPECT_TRUE(done.ok());
    }
    cluster.stop(node);
    auto& next = cluster.add_node();
    EXPECT_EQ(
        cluster.run(next.home(), read_all(*next.engine, log_a, Offset(0))).value(),
        (std::vector<std::string>{"a", "b", "c"})
    );
}

TEST(Engine, a_read_from_objects_is_patient_and_reads_ahead) {
    TestCluster cluster(3);
    auto& writer = cluster.add_node();
    for (int i = 0; i < 100; ++i) {
        const auto done = cluster.run(writer.home(), append(*writer.engine, entry(log_a, "x")));
        ASSERT_TRUE(done.ok());
    }
    cluster.stop(writer);
    auto& node = cluster.add_node();
    cluster.flakiness.delay_max = 100ms;
    const auto now = [&] { return cluster.loop.now(); };
    const ReadRequest all{.log = log_a, .from = Offset(0), .bytes_max = 1 << 20};

    ReadRequest none = all;
    none.bytes_max = 0;
    EXPECT_EQ(cluster.run(node.home(), read_one(*node.engine, none)).value().entries.size(), 1U);
    const std::uint64_t gets = node.flaky_objects.gets;
    EXPECT_LE(gets, 3U) << "no more than there is room for";

    ReadRequest hasty = all;
    hasty.patience = now() + 150ms;
    MonoTime begin = now();
    const auto some = cluster.run(node.home(), read_one(*node.engine, hasty)).value();
    EXPECT_GE(some.entries.size(), 1U);
    EXPECT_LT(some.entries.size(), 90U);
    EXPECT_EQ(some.bounds.high_watermark, Offset(100));
    EXPECT_LT(now() - begin, 400ms);

    hasty.patience = now();
    EXPECT_TRUE(cluster.run(node.home(), read_one(*node.engine, hasty)).value().entries.empty());

    begin = now();
    EXPECT_EQ(cluster.run(node.home(), read_one(*node.engine, all)).value().entries.size(), 100U);
    EXPECT_LT(now() - begin, 3s) << "one after the other it is about 10 s";
}

TEST(Engine, one_flush_is_one_put_and_one_write_whatever_the_number_of_logs) {
    TestCluster cluster(2);
    auto& node = cluster.add_node(1);
    std::vector<AppendRequest> requests;
    for (std::int64_t log = 0; log < 100; ++log) {
        requests.push_back(entry(LogId(log), "x"));
    }
    for (const auto& done : cluster.run(node.home(), append_many(*node.engine, requests))) {
        EXPECT_TRUE(done.ok());
    }
    EXPECT_EQ(node.flaky_objects.puts, 1U);
    EXPECT_EQ(node.flaky_metadata.writes, 1U);
    cluster.loop.run_for(24h);
    EXPECT_EQ(node.flaky_objects.puts, 1U) << "an idle node sends nothing";
    EXPECT_EQ(node.flaky_metadata.writes, 1U);
}

/// Append `text` after a while; how long the answer took.
rt::Task<Result<Duration>> append_after(Engine& engine, Duration wait, std::string text) {
    rt::Executor& executor = co_await rt::this_executor();
    co_await rt::sleep_until(executor.now() + wait);
    const MonoTime begin = executor.now();
    LKS_CO_TRY(co_await append(engine, entry(log_a, text)));
    co_return executor.now() - begin;
}

/// How long each of many took.
rt::Task<std::vector<Duration>> collect(std::vector<rt::Future<Result<Duration>>> appends) {
    std::vector<Duration> took;
    for (auto& done : appends) {
        took.push_back((co_await std::move(done)).value());
    }
    co_return took;
}

TEST(Engine, while_an_object_is_stored_the_next_one_grows) {
    TestCluster cluster(3);
    cluster.flakiness.put_time = 3ms;
    auto& node = cluster.add_node(1);
    std::vector<rt::Future<Result<Duration>>> appends;
    for (int i = 0; i < 60; ++i) {
        appends.push_back(rt::submit(node.home(), append_after(*node.engine, i * 1ms, "x")));
    }
    for (const Duration took : cluster.run(node.home(), collect(std::move(appends)))) {
        // Of the object that is stored, a half for those who do not come back, and of its own.
        EXPECT_LE(took, 8ms);
    }
    EXPECT_LE(node.flaky_objects.puts, 15U);
}

/// A client that appends again `pause` after each answer; how long each append took.
rt::Task<Result<std::vector<Duration>>> append_in_turn(Engine& engine, int count, Duration pause) {
    std::vector<Duration> took;
    for (int i = 0; i < count; ++i) {
        took.push_back(LKS_CO_TRY(co_await append_after(engine, pause, "some text")));
    }
    co_return took;
}

TEST(Engine, a_lone_client_never_waits_for_more) {
    TestCluster cluster(3);
    cluster.flakiness.put_time = 3ms;
    auto& node = cluster.add_node(1);
    for (const Duration pause : {0us, 500us, 5000us}) {
        const auto all = cluster.run(node.home(), append_in_turn(*node.engine, 20, pause));
        for (const Duration took : all.value()) {
            EXPECT_LE(took, 3100us);
        }
    }
}

TEST(Engine, clients_that_come_back_share_an_object_again) {
    TestCluster cluster(3);
    cluster.flakiness.put_time = 3ms;
    auto& node = cluster.add_node(2);
    std::vector<rt::Future<Result<std::vector<Duration>>>> clients;
    for (const Duration pause : {0us, 100us, 300us, 500us, 700us}) {
        clients.push_back(rt::submit(node.home(), append_in_turn(*node.engine, 100, pause)));
    }
    for (auto& client : clients) {
        const auto all =
            cluster.run(node.home(), [](auto& future) -> rt::Task<Result<std::vector<Duration>>> {
                co_return co_await std::move(future);
            }(client));
        EXPECT_EQ(all.value().size(), 100U);
    }
    EXPECT_LE(node.flaky_objects.puts, 110U) << "of 500 entries";
}

TEST(OpenBytes, who_makes_it_enough_is_told) {
    OpenBytes open;
    EXPECT_TRUE(open.reaches(0));
    EXPECT_FALSE(open.reaches(10));
    EXPECT_FALSE(open.add(9));
    EXPECT_TRUE(open.add(1));
    EXPECT_FALSE(open.add(5)) << "once";
    EXPECT_TRUE(open.reaches(15));
    open.sub(15);
    EXPECT_FALSE(open.reaches(1));
    EXPECT_TRUE(open.add(1));
}

TEST(Engine, where_puts_are_slow_or_objects_large_one_is_stored_beside_another) {
    TestCluster cluster(4);
    cluster.flakiness.put_time = 100ms;
    auto& node = cluster.add_node(1);
    const std::string large(cluster.settings.gather_bytes, 'z');
    std::vector<rt::Future<Result<Duration>>> appends;
    appends.push_back(rt::submit(node.home(), append_after(*node.engine, 0ms, "x")));
    appends.push_back(rt::submit(node.home(), append_after(*node.engine, 1ms, "y")));
    appends.push_back(rt::submit(node.home(), append_after(*node.engine, 13ms, large)));
    const auto took = cluster.run(node.home(), collect(std::move(appends)));
    EXPECT_LE(took[0], 101ms);
    EXPECT_LE(took[1], 111ms);
    EXPECT_LE(took[2], 101ms);
    EXPECT_EQ(node.flaky_objects.puts, 3U);
}

TEST(Engine, duplicates_are_answered_with_the_original_offset) {
    TestCluster cluster(3);
    auto& node = cluster.add_node();
    const auto stamped = [](std::int32_t sequence) {
        return entry(log_a, "s" + std::to_string(sequence), 1, ProducerStamp{5, 0, sequence});
    };
    for (std::int32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(cluster.run(node.home(), append(*node.engine, stamped(i)))->offset, Offset(i));
    }
    const auto again = cluster.run(node.home(), append(*node.engine, stamped(1)));
    EXPECT_EQ(again->offset, Offset(1));
    EXPECT_TRUE(again->duplicate);
    const auto gap = cluster.run(node.home(), append(*node.engine, stamped(9)));
    ASSERT_FALSE(gap.ok());
    EXPECT_EQ(gap.error().reason, static_cast<std::uint16_t>(AppendReason::out_of_order_sequence));
    // The gap left a void; reads step over it.
    EXPECT_EQ(cluster.run(node.home(), append(*node.engine, stamped(3)))->offset, Offset(4));
    EXPECT_EQ(
        cluster.run(node.home(), read_all(*node.engine, log_a, Offset(0))).value(),
        (std::vector<std::string>{"s0", "s1", "s2", "s3"})
    );
    cluster.crash(node);
    auto& next = cluster.add_node();
    const auto later = cluster.run(next.home(), append(*next.engine, stamped(2)));
    EXPECT_EQ(later->offset, Offset(2));
    EXPECT_TRUE(later->duplicate) << "a new node knows the producers without reading objects";
    EXPECT_EQ(next.flaky_objects.gets, 0U);
}

TEST(Engine, a_full_disk_fails_appends_and_recovers) {
    TestCluster cluster(4);
    auto& node = cluster.add_node();
    node.flaky_objects.failing = exhausted("no space left in /data");
    const auto refused = cluster.run(node.home(), append(*node.engine, entry(log_a, "lost")));
    EXPECT_TRUE(refused.is(ErrorCode::exhausted));
    node.flaky_objects.failing.reset();
    EXPECT_EQ(
        cluster.run(node.home(), append(*node.engine, entry(log_a, "kept")))->offset, Offset(0)
    );
    EXPECT_EQ(
        cluster.run(node.home(), read_all(*node.engine, log_a, Offset(0))).value(),
        std::vector<std::string>{"kept"}
    );
}

TEST(Engine, metadata_that_refuses_fails_appends_without_a_rush_and_recovers) {
    TestCluster cluster(1);
    auto& node = cluster.add_node();
    ASSERT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_a, "a"))).ok());
    node.flaky_metadata.refusing = exhausted("the disk is full");
    const std::uint64_t before = node.flaky_metadata.writes;
    const MonoTime begin = cluster.loop.now();
    const auto refused = cluster.run(node.home(), append(*node.engine, entry(log_a, "b")));
    EXPECT_TRUE(refused.is(ErrorCode::exhausted)) << refused.error().to_string();
    EXPECT_LT(cluster.loop.now() - begin, 5s);
    EXPECT_LT(node.flaky_metadata.writes - before, 20U);
    node.flaky_metadata.refusing.reset();
    const auto next = cluster.run(node.home(), append(*node.engine, entry(log_a, "c")));
    ASSERT_TRUE(next.ok()) << next.error().to_string();
    EXPECT_EQ(next->offset, Offset(1)) << "what was refused has no place";
}

TEST(Engine, a_node_whose_metadata_is_away_stops_all_the_same) {
    TestCluster cluster(1);
    auto& node = cluster.add_node();
    ASSERT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_a, "a"))).ok());
    node.flaky_metadata.refusing = unavailable("nobody answers");
    auto answers = rt::submit(node.home(), append(*node.engine, entry(log_a, "b")));
    cluster.loop.run_for(1s);
    const MonoTime begin = cluster.loop.now();
    cluster.stop(node);
    EXPECT_LT(cluster.loop.now() - begin, 40s);
}

TEST(Engine, a_put_that_failed_alone_stops_its_writer_and_not_the_log) {
    TestCluster cluster(1);
    auto& node = cluster.add_node();
    ASSERT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_a, "a"))).ok());
    node.flaky_metadata.failing_puts = corrupt("this put");
    EXPECT_TRUE(
        cluster.run(node.home(), append(*node.engine, entry(log_a, "b"))).is(ErrorCode::corrupt)
    );
    node.flaky_metadata.failing_puts.reset();
    const std::uint64_t before = node.flaky_metadata.writes;
    const auto next = cluster.run(node.home(), append(*node.engine, entry(log_a, "c")));
    ASSERT_TRUE(next.ok()) << next.error().to_string();
    EXPECT_EQ(node.flaky_metadata.writes - before, 1U)
        << "no void record of a number that follows none";
}

TEST(Engine, an_append_without_an_answer_is_unknown_and_goes_on) {
    TestCluster cluster(5);
    auto& node = cluster.add_node();
    node.flaky_objects.failing = unavailable("away");
    const auto unknown = cluster.run(node.home(), append(*node.engine, entry(log_a, "slow")));
    EXPECT_TRUE(unknown.is(ErrorCode::outcome_unknown));
    node.flaky_objects.failing.reset();
    cluster.loop.run_for(10s);
    EXPECT_EQ(
        cluster.run(node.home(), read_all(*node.engine, log_a, Offset(0))).value(),
        std::vector<std::string>{"slow"}
    );
}

TEST(Engine, a_fenced_log_takes_nothing) {
    TestCluster cluster(6);
    auto& node = cluster.add_node();
    EXPECT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_a, "x"))).ok());
    cluster.run(node.home(), [](Engine& engine) -> rt::Task<bool> {
        co_await engine.fence(log_a);
        co_return true;
    }(*node.engine));
    EXPECT_TRUE(
        cluster.run(node.home(), append(*node.engine, entry(log_a, "y"))).is(ErrorCode::fenced)
    );
    EXPECT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_b, "y"))).ok());
}

/// What another node's catalog does to a log when its stream is dropped.
void delete_log(TestCluster& cluster, LogId log) {
    const std::string partition = index::partition_key(log);
    meta::ShardBatch batch;
    batch.puts.push_back(
        {.key = index::fence_key(log), .value = Bytes::copy("1"), .partition_key = partition}
    );
    batch.ranges.push_back({.begin = index::bound_first(log), .end = index::bound_last(log)});
    ASSERT_TRUE(cluster.metadata.write(cluster.metadata.shard_of(partition), std::move(batch)).ok()
    );
}

TEST(Engine, a_log_deleted_by_another_node_fails_its_appends_and_holds_up_nothing) {
    TestCluster cluster(7);
    auto& node = cluster.add_node();
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_a, "x", 5))).ok());
    }
    delete_log(cluster, log_a);
    for (int i = 0; i < 3; ++i) {  // in the index, what is written now begins at 0 again
        EXPECT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_a, "late", 5)))
                        .is(ErrorCode::fenced));
        EXPECT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_b, "y"))).ok());
    }
    const MonoTime begin = cluster.loop.now();
    cluster.stop(node);
    EXPECT_LT(cluster.loop.now() - begin, 1s);
}

TEST(Engine, waiting_ends_with_an_append_or_at_the_deadline) {
    TestCluster cluster(8);
    auto& node = cluster.add_node();
    const auto wait = [&](Offset seen) {
        return cluster.run(
            node.home(), node.engine->wait_append({{log_a, seen}}, cluster.loop.now() + 500ms)
        );
    };
    EXPECT_FALSE(wait(Offset(0)));
    EXPECT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_a, "x"))).ok());
    EXPECT_TRUE(wait(Offset(0)));
    EXPECT_FALSE(wait(Offset(1)));
}

TEST(Engine, damage_is_named_and_the_rest_goes_on) {
    TestCluster cluster(9);
    auto& node = cluster.add_node();
    for (const char* text : {"one", "two"}) {
        EXPECT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_a, text))).ok());
    }
    EXPECT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_b, "other"))).ok());
    cluster.stop(node);
    const auto objects = cluster.bucket.list("", "", 10);
    ASSERT_EQ(objects->objects.size(), 3U);
    std::string damaged(cluster.bucket.get(objects->objects[0].name, {})->view());
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    ASSERT_TRUE(
        cluster.bucket
            .put(
                objects->objects[0].name, Slices(Bytes::own(damaged)), objstore::IfExists::overwrite
            )
            .ok()
    );
    auto& next = cluster.add_node();
    int corrupted = 0;
    for (const LogId log : {log_a, log_b}) {
        const auto read = cluster.run(next.home(), read_all(*next.engine, log, Offset(0)));
        if (read.is(ErrorCode::corrupt)) {
            ++corrupted;
            EXPECT_NE(read.error().message.find(objects->objects[0].name), std::string::npos);
        }
    }
    EXPECT_EQ(corrupted, 1);
}

/// A compacted object with one entry.
class OneEntry final : public CompactedSource {
  public:
    rt::Task<Result<std::vector<CompactedPart>>>
    read(LogId, index::IndexRecord, OffsetRange range, Offset, std::uint64_t, rt::TaskScope&)
        override {
        co_return std::vector<CompactedPart>{{range, {}, Bytes::copy("compacted")}};
    }
};

/// Put a compacted record in the place of the only raw one.
void replace_record(TestCluster& cluster) {
    const std::string partition = index::partition_key(log_a);
    meta::MemoryStore store(cluster.metadata, cluster.outside);
    const auto records = cluster.run(
        cluster.outside,
        meta::read_all(
            store,
            {.begin = index::bound_first(log_a),
             .end = index::bound_last(log_a),
             .partition_key = partition},
            10
        )
    );
    ASSERT_EQ(records->size(), 1U);
    auto value = index::IndexRecord::decode(records->front().value).value();
    value.location = "ursa.parquet";
    value.file_type = index::FileType::parquet;
    value.extension.reset();
    const meta::Put put{
        .key = records->front().key, .value = value.encode(), .partition_key = partition
    };
    ASSERT_TRUE(cluster.run(cluster.outside, meta::put(store, put)).ok());
}

rt::Task<bool> read_into(Engine& engine, std::optional<Result<std::vector<std::string>>>& result) {
    result.emplace(co_await read_all(engine, log_a, Offset(0)));
    co_return true;
}

TEST(Engine, a_reader_whose_object_is_gone_meanwhile_reads_what_replaced_it) {
    TestCluster cluster(10);
    OneEntry compacted;
    cluster.compacted = &compacted;
    auto& writer = cluster.add_node();
    EXPECT_TRUE(cluster.run(writer.home(), append(*writer.engine, entry(log_a, "raw"))).ok());
    cluster.stop(writer);
    const auto objects = cluster.bucket.list("", "", 10);
    ASSERT_TRUE(cluster.bucket.remove(objects->objects.at(0).name).ok());
    auto& node = cluster.add_node();
    std::optional<Result<std::vector<std::string>>> read;
    static_cast<void>(rt::submit(node.home(), read_into(*node.engine, read)));
    cluster.loop.run_for(100ms);  // it has the raw record, and looks for its object
    ASSERT_FALSE(read.has_value());
    replace_record(cluster);
    cluster.loop.run_for(cluster.settings.damage_patience * 2);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->value(), std::vector<std::string>{"compacted"});
}

rt::Task<std::vector<OffsetRange>> newest_of(Engine& engine) {
    std::vector<OffsetRange> ranges;
    for (const TimestampHint& hint : (co_await engine.find_max_timestamp(log_a)).value()) {
        ranges.push_back(hint.range);
    }
    co_return ranges;
}

TEST(Engine, the_newest_record_is_where_it_is_known_to_be_or_where_nobody_knows) {
    TestCluster cluster(11);
    auto& node = cluster.add_node();
    const auto add = [&](std::int64_t timestamp, std::optional<ProducerStamp> producer = {}) {
        AppendRequest request = entry(log_a, "x", 1, producer);
        request.max_timestamp = timestamp;
        return cluster.run(node.home(), append(*node.engine, std::move(request))).ok();
    };
    const auto newest = [&] { return cluster.run(node.home(), newest_of(*node.engine)); };
    EXPECT_EQ(newest(), std::vector<OffsetRange>{});
    EXPECT_TRUE(add(10));
    replace_record(cluster);  // now nobody knows
    EXPECT_TRUE(add(30));
    EXPECT_TRUE(add(30));
    EXPECT_TRUE(add(20));
    EXPECT_EQ(newest(), (std::vector<OffsetRange>{{Offset(0), Offset(1)}, {Offset(1), Offset(2)}}));
    EXPECT_FALSE(add(40, ProducerStamp{1, 0, 5}));  // void
    EXPECT_EQ(newest().size(), 3U);
    EXPECT_TRUE(add(50));
    EXPECT_EQ(newest().back(), (OffsetRange{Offset(5), Offset(6)}));
}

/// One idempotent producer with five batches in flight that sends each to a random engine, and
/// repeats what was not answered well, as clients do.
struct Ledger {
    std::map<std::int32_t, Offset> acknowledged;  // by sequence
};

rt::Task<void> send_until_acknowledged(
    TestCluster& cluster, std::int64_t producer, std::int32_t sequence, Ledger& ledger, bool& failed
) {
    rt::Executor& executor = co_await rt::this_executor();
    for (int attempt = 0; attempt < 1000; ++attempt) {
        auto& node = *cluster.nodes[executor.rng().below(cluster.nodes.size())];
        std::vector<AppendRequest> requests;
        requests.push_back(entry(
            log_a,
            std::to_string(producer) + ":" + std::to_string(sequence),
            1,
            ProducerStamp{producer, 0, sequence}
        ));
        auto results = co_await node.engine->append(std::move(requests), executor.now() + 2s);
        if (results.front().ok()) {
            ledger.acknowledged[sequence] = results.front()->offset;
            co_return;
        }
        co_await rt::sleep_until(
            executor.now() + std::chrono::milliseconds(executor.rng().below(50))
        );
    }
    failed = true;
}

rt::Task<void> produce_in_flight(
    TestCluster& cluster, rt::TaskScope& scope, std::int64_t producer, Ledger& ledger, bool& failed
) {
    constexpr std::int32_t count = 40;
    constexpr std::size_t in_flight = 5;
    for (std::int32_t next = 0; next < count; ++next) {
        while (ledger.acknowledged.size() + in_flight <= static_cast<std::size_t>(next)) {
            co_await rt::sleep_until(cluster.loop.now() + 1ms);
        }
        scope.spawn(send_until_acknowledged(cluster, producer, next, ledger, failed));
    }
}

class RandomSelector : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomSelector, zero_lost_zero_doubled_with_any_engine_answering) {
    TestCluster cluster(GetParam(), 1 + GetParam() % 2);
    cluster.settings.shared_metadata = true;
    cluster.settings.snapshot_records = 10;
    rt::Rng rng(GetParam());
    cluster.flakiness = {
        .fail_before = rng.below(100),
        .lose_answer = rng.below(200),
        .apply_late = rng.below(200),
        .delay_max = std::chrono::milliseconds(rng.below(20)),
    };
    for (int i = 0; i < 3; ++i) {
        cluster.add_node();
    }
    rt::TaskScope clients(cluster.outside);
    std::map<std::int64_t, Ledger> ledgers;
    bool failed = false;
    for (std::int64_t producer = 1; producer <= 3; ++producer) {
        clients.spawn(produce_in_flight(cluster, clients, producer, ledgers[producer], failed));
    }
    ASSERT_TRUE(
        cluster.loop.run_until([&] { return clients.size() == 0; }, cluster.loop.now() + 30min)
    );
    ASSERT_FALSE(failed);
    cluster.flakiness = {};
    cluster.loop.run_for(10s);  // what is late lands

    std::vector<std::vector<std::string>> seen;
    for (const auto& node : cluster.nodes) {
        static_cast<void>(cluster.run(node->home(), [](Engine& engine) -> rt::Task<bool> {
            std::vector<LogId> logs{log_a};
            co_return (co_await engine.bounds(std::move(logs))).front().ok();
        }(*node->engine)));
        seen.push_back(cluster.run(node->home(), read_all(*node->engine, log_a, Offset(0))).value()
        );
    }
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_EQ(seen[0], seen[2]);
    std::map<std::string, int> next;
    for (const std::string& text : seen[0]) {
        const std::string producer = text.substr(0, text.find(':'));
        EXPECT_EQ(std::stoi(text.substr(text.find(':') + 1)), next[producer]++) << text;
    }
    for (const auto& [producer, ledger] : ledgers) {
        EXPECT_EQ(ledger.acknowledged.size(), 40U);
        EXPECT_EQ(next[std::to_string(producer)], 40);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSelector, testing::Range<std::uint64_t>(1, 60));

TEST(Engine, a_log_starts_where_it_was_trimmed_on_every_node_and_for_good) {
    TestCluster cluster(1);
    cluster.settings.shared_metadata = true;
    auto& node = cluster.add_node();
    auto& other = cluster.add_node();
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_a, "x", 2))).ok());
    }
    EXPECT_TRUE(cluster.run(other.home(), read_all(*other.engine, log_a, Offset(0))).ok());
    const auto trimmed = cluster.run(node.home(), node.engine->trim(log_a, Offset(4)));
    ASSERT_TRUE(trimmed.ok()) << trimmed.error().to_string();
    EXPECT_EQ(trimmed->start, Offset(4));
    EXPECT_EQ(trimmed->high_watermark, Offset(10));
    cluster.loop.run_for(1s);
    for (auto* each : {&node, &other}) {
        const ReadRequest below{.log = log_a, .from = Offset(3), .bytes_max = 100};
        EXPECT_TRUE(
            cluster.run(each->home(), read_one(*each->engine, below)).is(ErrorCode::out_of_range)
        );
        EXPECT_EQ(cluster.run(each->home(), read_all(*each->engine, log_a, Offset(4)))->size(), 3U);
    }
    // It never starts earlier again.
    EXPECT_EQ(cluster.run(other.home(), other.engine->trim(log_a, Offset(2)))->start, Offset(4));
    EXPECT_TRUE(
        cluster.run(node.home(), node.engine->trim(log_a, Offset(11))).is(ErrorCode::out_of_range)
    );
    cluster.stop(node);
    auto& next = cluster.add_node();
    EXPECT_EQ(cluster.run(next.home(), next.engine->trim(log_a, Offset(0)))->start, Offset(4));
}

TEST(Engine, a_log_trimmed_to_its_end_is_empty_and_goes_on) {
    TestCluster cluster(1);
    auto& node = cluster.add_node();
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(cluster.run(node.home(), append(*node.engine, entry(log_a, "x", 2))).ok());
    }
    const auto all = cluster.run(node.home(), node.engine->trim(log_a, std::nullopt));
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->start, Offset(4));
    // For other engines the last index record stays.
    const auto mark = cluster.metadata.get(
        {.key = index::mark_key(log_a), .partition_key = index::partition_key(log_a)}
    );
    ASSERT_TRUE(mark.ok());
    EXPECT_EQ(mark->value.view(), "2");
    EXPECT_TRUE(cluster.run(node.home(), read_all(*node.engine, log_a, Offset(4)))->empty());
    const auto next = cluster.run(node.home(), append(*node.engine, entry(log_a, "y")));
    EXPECT_EQ(next->offset, Offset(4));
    EXPECT_EQ(
        cluster.run(node.home(), read_all(*node.engine, log_a, Offset(4))).value(),
        std::vector<std::string>{"y"}
    );
}

}  // namespace
}  // namespace lakestream::log
