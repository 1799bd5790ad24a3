// SPDX-License-Identifier: Apache-2.0
// The catalog on the memory store: life cycle, cache, and crashes between any two writes.
#include "catalog/metadata_catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "catalog/keys.h"
#include "meta/memory_store.h"
#include "meta/testing/faulty_metadata.h"
#include "meta/testing/forwarding_store.h"
#include "rt/sim/testing.h"

namespace lakestream::catalog {
namespace {

/// A client whose n-th write from now meets a fault; after a crash nothing works any more.
class FaultyClient final : public meta::testing::ForwardingStore {
  public:
    enum class Fault : std::uint8_t { refused, answer_lost, crash_before, crash_after };

    using ForwardingStore::ForwardingStore;

    void plan(std::int64_t write, Fault fault) {
        countdown_ = write;
        fault_ = fault;
    }
    /// Scans end at once.
    void cut_scans(bool cut) { cut_scans_ = cut; }
    std::int64_t writes() const { return writes_; }
    std::int64_t reads() const { return reads_; }

    rt::Future<Result<meta::ShardBatchDone>> write(meta::ShardId shard, meta::ShardBatch batch)
        override {
        using Done = rt::Future<Result<meta::ShardBatchDone>>;
        ++writes_;
        if (crashed_) {
            return Done::ready(cancelled("crashed"));
        }
        if (countdown_-- != 0) {
            return ForwardingStore::write(shard, std::move(batch));
        }
        const bool applied = fault_ == Fault::answer_lost || fault_ == Fault::crash_after;
        if (applied) {
            static_cast<void>(ForwardingStore::write(shard, std::move(batch)));
        }
        crashed_ = fault_ == Fault::crash_before || fault_ == Fault::crash_after;
        return Done::ready(
            crashed_  ? cancelled("crashed")
            : applied ? outcome_unknown("the answer was lost")
                      : unavailable("refused")
        );
    }
    rt::Future<Result<meta::Record>> get(meta::Get request) override {
        ++reads_;
        return crashed_ ? rt::Future<Result<meta::Record>>::ready(cancelled("crashed"))
                        : ForwardingStore::get(std::move(request));
    }
    std::unique_ptr<meta::Scan> scan(meta::Range range) override {
        ++reads_;
        if (cut_scans_) {
            range.end = range.begin;
        }
        return ForwardingStore::scan(std::move(range));
    }
    rt::Future<Result<std::vector<std::string>>> list(meta::Range range) override {
        ++reads_;
        return ForwardingStore::list(std::move(range));
    }

  private:
    std::int64_t countdown_ = -1;
    Fault fault_ = Fault::refused;
    bool crashed_ = false;
    bool cut_scans_ = false;
    std::int64_t writes_ = 0;
    std::int64_t reads_ = 0;
};

class FencedLogs final : public LogFencer {
  public:
    rt::Task<void> fence(LogId log) override {
        logs.insert(log);
        co_return;
    }

    std::set<LogId> logs;
};

/// One node of a cluster: its client and its catalog.
struct Node {
    Node(rt::SimTest& sim, meta::MemoryMetadata& server)
        : store(server, sim.executor),
          client(store),
          catalog(sim.run(MetadataCatalog::open(client, fenced, sim.executor)).value()) {}

    meta::MemoryStore store;
    FaultyClient client;
    FencedLogs fenced;
    std::unique_ptr<MetadataCatalog> catalog;
};

const StreamName orders{"default", "orders"};

StreamSpec spec(std::uint32_t partitions) {
    return {orders, partitions, {{"retention.ms", "1000"}}};
}

class CatalogTest : public testing::TestWithParam<meta::KeyOrder> {
  protected:
    std::unique_ptr<Node> node() { return std::make_unique<Node>(sim_, server_); }

    template <class T>
    T run(rt::Task<T> task) {
        return sim_.run(std::move(task));
    }

    std::vector<std::string> keys(std::string begin, std::string end) {
        meta::MemoryStore client(server_, sim_.executor);
        return run(list(client, {.begin = std::move(begin), .end = std::move(end)})).value();
    }

    static rt::Task<Result<std::vector<std::string>>> list(
        meta::MetadataStore& store, meta::Range range
    ) {
        co_return co_await store.list(std::move(range));
    }

    std::string value(std::string key, std::optional<std::string> partition_key = std::nullopt) {
        meta::MemoryStore client(server_, sim_.executor);
        const auto record =
            run(get(client, {.key = std::move(key), .partition_key = std::move(partition_key)}));
        return record.ok() ? std::string(record->value.view()) : record.error().to_string();
    }

    static rt::Task<Result<meta::Record>> get(meta::MetadataStore& store, meta::Get request) {
        co_return co_await store.get(std::move(request));
    }

    Result<meta::PutDone> put(meta::Put request) {
        meta::MemoryStore client(server_, sim_.executor);
        return run(meta::put(client, std::move(request)));
    }

    rt::SimTest sim_;
    meta::MemoryMetadata server_{sim_.executor, {.shards = 3, .key_order = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(
    KeyOrders,
    CatalogTest,
    testing::Values(meta::KeyOrder::hierarchical, meta::KeyOrder::natural),
    [](const auto& info) {
        return info.param == meta::KeyOrder::natural ? "natural" : "hierarchical";
    }
);

TEST_P(CatalogTest, a_created_stream_is_found_by_name_id_and_list_on_every_node) {
    const auto a = node();
    const auto b = node();
    const StreamPtr made = run(a->catalog->create(spec(3))).value();
    EXPECT_EQ(made->logs.size(), 3U);
    EXPECT_EQ(std::set(made->logs.begin(), made->logs.end()).size(), 3U);
    for (const auto& each : {a.get(), b.get()}) {
        for (const StreamPtr& found :
             {run(each->catalog->load(orders)).value(),
              run(each->catalog->load_by_id(made->incarnation)).value(),
              run(each->catalog->list("default")).value().at(0)}) {
            EXPECT_EQ(found->name, orders);
            EXPECT_EQ(found->logs, made->logs);
            EXPECT_EQ(found->incarnation, made->incarnation);
            EXPECT_EQ(found->properties, spec(3).properties);
        }
    }
    EXPECT_TRUE(run(a->catalog->create(spec(3))).is(ErrorCode::already_exists));
    EXPECT_TRUE(run(b->catalog->create(spec(1))).is(ErrorCode::already_exists));
    EXPECT_TRUE(run(b->catalog->load({"default", "others"})).is(ErrorCode::not_found));
    EXPECT_TRUE(run(b->catalog->load_by_id({})).is(ErrorCode::not_found));
    EXPECT_TRUE(run(b->catalog->list("elsewhere")).value().empty());
}

TEST_P(CatalogTest, the_records_are_the_references) {
    const auto a = node();
    const StreamPtr made = run(a->catalog->create(spec(1))).value();
    const std::int64_t log = made->logs[0].v;
    const auto config = parse_stream_config(value("/admin/streams/default/orders")).value();
    EXPECT_EQ(config.state, StreamState::active);
    EXPECT_EQ(config.partitioning, (Properties{{"numPartitions", "1"}}));
    EXPECT_EQ(config.owner->generation, 1);
    EXPECT_EQ(value("/admin/streams/_namespaces/default"), R"({"properties":{}})");
    EXPECT_EQ(
        value(fmt::format("/stream-id/{}", log)),
        R"({"key":"lakestream-native/default/orders/partition-0"})"
    );
    EXPECT_EQ(
        parse_log_mapping(value(
            "/stream-id-generator/lakestream-native/default/orders/partition-0",
            "/stream-id-generator"
        )),
        (LogMapping{MappingState::active, log, *config.owner})
    );
    const auto metadata = parse_log_metadata(value("/streams/default/orders-partition-0")).value();
    EXPECT_EQ(metadata.log_id, log);
    EXPECT_EQ(metadata.registration, config.owner);
}

TEST_P(CatalogTest, a_dropped_stream_is_fenced_purged_and_gone_everywhere) {
    const auto a = node();
    const auto b = node();
    const StreamPtr made = run(a->catalog->create(spec(2))).value();
    run(b->catalog->load(orders)).value();
    const std::string first = fmt::format("{:020}", made->logs[0].v);
    EXPECT_TRUE(put({
                        .key = first,
                        .value = Bytes::copy(std::string_view("index record")),
                        .partition_key = std::to_string(made->logs[0].v),
                        .sequence_deltas = {5, 100},
                    })
                    .ok());
    for (const LogId log : made->logs) {
        const std::string id = std::to_string(log.v);
        const Bytes state = Bytes::copy(std::string_view("state"));
        EXPECT_TRUE(put({.key = "/lks/fold/" + id, .value = state, .partition_key = id}).ok());
        EXPECT_TRUE(put({.key = "/lks/compact/" + id, .value = state, .partition_key = id}).ok());
        EXPECT_TRUE(put({.key = "/first-uncompacted-offset/" + id, .value = state}).ok());
    }
    EXPECT_TRUE(run(a->catalog->drop(orders, {})).ok());
    sim_.loop.run_for(1s);  // for the notifications
    for (const auto& each : {a.get(), b.get()}) {
        EXPECT_TRUE(run(each->catalog->load(orders)).is(ErrorCode::not_found));
        EXPECT_TRUE(run(each->catalog->load_by_id(made->incarnation)).is(ErrorCode::not_found));
        EXPECT_TRUE(run(each->catalog->list("default")).value().empty());
        EXPECT_TRUE(run(each->catalog->drop(orders, {})).is(ErrorCode::not_found));
    }
    EXPECT_EQ(a->fenced.logs, std::set(made->logs.begin(), made->logs.end()));
    for (const LogId log : made->logs) {
        const std::string id = std::to_string(log.v);
        EXPECT_EQ(value(fmt::format("/stream-write-fences/{}", id), id), std::string("\1", 1));
    }
    EXPECT_TRUE(keys(first + "-", first + "-~").empty());
    EXPECT_TRUE(keys("/stream-id/0", "/stream-id/~").empty());
    EXPECT_TRUE(keys("/lks/fold/", "/lks/fold/~").empty());
    EXPECT_TRUE(keys("/lks/compact/", "/lks/compact/~").empty());
    EXPECT_TRUE(keys("/first-uncompacted-offset/", "/first-uncompacted-offset/~").empty());
    const auto grave = parse_stream_config(value("/admin/streams/_tombstones/default/orders"));
    EXPECT_EQ(grave->state, StreamState::dropped);
    EXPECT_TRUE(parse_log_metadata(value("/streams/default/orders-partition-1"))->deleted);
}

TEST_P(CatalogTest, a_stream_created_again_is_another_one) {
    const auto a = node();
    std::set<LogId> logs;
    std::set<std::array<std::byte, 16>> incarnations;
    for (int i = 0; i < 3; ++i) {
        const StreamPtr made = run(a->catalog->create(spec(2))).value();
        logs.insert(made->logs.begin(), made->logs.end());
        incarnations.insert(made->incarnation);
        EXPECT_EQ(run(a->catalog->load(orders)).value()->incarnation, made->incarnation);
        EXPECT_TRUE(run(a->catalog->drop(orders, {})).ok());
    }
    EXPECT_EQ(logs.size(), 6U);
    EXPECT_EQ(incarnations.size(), 3U);
}

/// A claim can be applied long after its sender was told that its fate is unknown.
TEST_P(CatalogTest, a_claim_that_arrives_after_the_drop_is_undone) {
    const auto a = node();
    EXPECT_TRUE(run(a->catalog->create(spec(2))).ok());
    auto claim = parse_stream_config(value("/admin/streams/default/orders")).value();
    claim.state = StreamState::provisioning;
    EXPECT_TRUE(run(a->catalog->drop(orders, {})).ok());
    EXPECT_TRUE(
        put({.key = "/admin/streams/default/orders", .value = Bytes::own(to_json(claim))}).ok()
    );
    EXPECT_TRUE(run(a->catalog->recover()).ok());
    EXPECT_TRUE(run(a->catalog->load(orders)).is(ErrorCode::not_found));
    EXPECT_TRUE(value("/admin/streams/default/orders").starts_with("not_found"));
    EXPECT_TRUE(run(a->catalog->create(spec(2))).ok());
}

/// The grave is the last one's; a claim of an earlier one is known all the same.
TEST_P(CatalogTest, a_claim_that_arrives_two_drops_later_is_undone) {
    const auto a = node();
    EXPECT_TRUE(run(a->catalog->create(spec(2))).ok());
    auto claim = parse_stream_config(value("/admin/streams/default/orders")).value();
    claim.state = StreamState::provisioning;
    EXPECT_TRUE(run(a->catalog->drop(orders, {})).ok());
    EXPECT_TRUE(run(a->catalog->create(spec(2))).ok());
    EXPECT_TRUE(run(a->catalog->drop(orders, {})).ok());
    EXPECT_TRUE(
        put({.key = "/admin/streams/default/orders", .value = Bytes::own(to_json(claim))}).ok()
    );
    EXPECT_TRUE(run(a->catalog->recover()).ok());
    EXPECT_TRUE(run(a->catalog->load(orders)).is(ErrorCode::not_found));
    const std::string oldest = "/lks/graves/default/orders/" + claim.owner->incarnation;
    EXPECT_EQ(value(oldest), "");
    sim_.loop.run_for(std::chrono::hours(25));
    EXPECT_TRUE(run(a->catalog->create(spec(2))).ok());
    EXPECT_TRUE(run(a->catalog->drop(orders, {})).ok());
    EXPECT_TRUE(value(oldest).starts_with("not_found"));
}

TEST_P(CatalogTest, a_drop_by_incarnation_spares_the_next_stream_of_the_name) {
    const auto a = node();
    const StreamPtr first = run(a->catalog->create(spec(1))).value();
    EXPECT_TRUE(run(a->catalog->drop(orders, first->incarnation)).ok());
    EXPECT_TRUE(run(a->catalog->drop(orders, first->incarnation)).is(ErrorCode::not_found));
    const StreamPtr second = run(a->catalog->create(spec(1))).value();
    EXPECT_TRUE(run(a->catalog->drop(orders, first->incarnation)).is(ErrorCode::not_found));
    EXPECT_EQ(run(a->catalog->load(orders)).value()->incarnation, second->incarnation);
}

/// A stale leader of the store lists without the newest stream, whose change was told long ago.
TEST_P(CatalogTest, a_listing_that_lacks_a_stream_is_made_again) {
    const auto a = node();
    const StreamPtr made = run(a->catalog->create(spec(1))).value();
    const auto b = node();
    b->client.cut_scans(true);
    EXPECT_TRUE(run(b->catalog->list("default")).value().empty());
    EXPECT_TRUE(run(b->catalog->load_by_id(made->incarnation)).is(ErrorCode::not_found));
    b->client.cut_scans(false);
    sim_.loop.run_for(2s);
    EXPECT_EQ(run(b->catalog->load_by_id(made->incarnation)).value()->logs, made->logs);
    const auto c = node();
    c->client.cut_scans(true);
    EXPECT_TRUE(run(c->catalog->list("default")).value().empty());
    c->client.cut_scans(false);
    sim_.loop.run_for(31s);
    EXPECT_EQ(run(c->catalog->list("default")).value().size(), 1U);
}

TEST_P(CatalogTest, a_thousand_partitions_cost_a_handful_of_requests) {
    const auto a = node();
    EXPECT_EQ(run(a->catalog->create(spec(1000))).value()->logs.size(), 1000U);
    EXPECT_LE(a->client.writes(), 12);
    EXPECT_LE(a->client.reads(), 7);
    const std::int64_t before = a->client.writes();
    EXPECT_TRUE(run(a->catalog->drop(orders, {})).ok());
    EXPECT_LE(a->client.writes() - before, 16);
}

TEST_P(CatalogTest, cached_answers_cost_nothing_and_follow_others_changes) {
    const auto a = node();
    const auto b = node();
    const StreamPtr made = run(a->catalog->create(spec(1))).value();
    run(b->catalog->list("default")).value();
    sim_.loop.run_for(1s);
    run(b->catalog->list("default")).value();
    const std::int64_t before = b->client.reads();
    run(b->catalog->load(orders)).value();
    run(b->catalog->load_by_id(made->incarnation)).value();
    run(b->catalog->list("default")).value();
    EXPECT_EQ(b->client.reads(), before);
    EXPECT_TRUE(run(a->catalog->create({{"default", "more"}, 1, {}})).ok());
    sim_.loop.run_for(1s);
    EXPECT_EQ(run(b->catalog->list("default")).value().size(), 2U);
    EXPECT_TRUE(run(a->catalog->drop(orders, {})).ok());
    sim_.loop.run_for(1s);
    EXPECT_EQ(run(b->catalog->list("default")).value().size(), 1U);
    EXPECT_LE(b->client.reads(), before + 8);
}

TEST_P(CatalogTest, bad_names_and_counts_are_refused) {
    const auto a = node();
    for (const StreamSpec& bad : std::vector<StreamSpec>{
             {{"default", ""}, 1, {}},
             {{"default", "a/b"}, 1, {}},
             {{"default", ".."}, 1, {}},
             {{"default", std::string(250, 'x')}, 1, {}},
             {{"default", "orders-partition-3"}, 1, {}},
             {{"_tombstones", "orders"}, 1, {}},
             {{"", "orders"}, 1, {}},
             {{"default", "orders"}, 0, {}},
             {{"default", "orders"}, 100'001, {}},
             {{"default", "orders"}, 1, {{"k", std::string(300'000, 'v')}}},
         }) {
        EXPECT_TRUE(run(a->catalog->create(bad)).is(ErrorCode::invalid_argument))
            << bad.name.ns << "/" << bad.name.name;
    }
    EXPECT_EQ(a->client.writes(), 0);
    EXPECT_TRUE(run(a->catalog->create({{"default", "x-partition-"}, 1, {}})).ok());
}

/// A drop waits for writers that hold leases, purges nothing meanwhile, and can be repeated.
TEST_P(CatalogTest, a_foreign_writer_holds_the_purge_back) {
    const auto a = node();
    const StreamPtr made = run(a->catalog->create(spec(1))).value();
    const std::string id = std::to_string(made->logs[0].v);
    const std::string lease = fmt::format("/stream-write-leases/{}/some-writer", id);
    EXPECT_TRUE(put({.key = lease, .partition_key = id}).ok());
    const Status held = run(a->catalog->drop(orders, {}));
    EXPECT_TRUE(held.is(ErrorCode::unavailable));
    EXPECT_EQ(value(fmt::format("/stream-write-fences/{}", id), id), std::string("\1", 1));
    EXPECT_EQ(
        value("/stream-id/" + id), R"({"key":"lakestream-native/default/orders/partition-0"})"
    );
    meta::MemoryStore client(server_, sim_.executor);
    EXPECT_TRUE(run(meta::remove(client, {.key = lease}, id)).ok());
    EXPECT_TRUE(run(a->catalog->drop(orders, {})).ok());
    EXPECT_TRUE(run(a->catalog->create(spec(1))).ok());
}

TEST_P(CatalogTest, producer_ids_are_never_given_twice) {
    const auto a = node();
    const auto b = node();
    EXPECT_EQ(run(a->catalog->allocate_producer_ids(1000)).value(), 0);
    EXPECT_EQ(run(b->catalog->allocate_producer_ids(10)).value(), 1000);
    a->client.plan(0, FaultyClient::Fault::answer_lost);
    EXPECT_EQ(run(a->catalog->allocate_producer_ids(10)).value(), 1020);
    a->client.plan(0, FaultyClient::Fault::refused);
    EXPECT_EQ(run(a->catalog->allocate_producer_ids(10)).value(), 1030);
    EXPECT_TRUE(run(a->catalog->allocate_producer_ids(0)).is(ErrorCode::invalid_argument));
}

PropertiesChange set(std::string name, std::string value) {
    return [=](Properties properties) -> Result<Properties> {
        properties[name] = value;
        return properties;
    };
}

/// All at once.
rt::Task<bool> change_everywhere(std::vector<Catalog*> catalogs, Incarnation incarnation) {
    rt::Executor& executor = co_await rt::this_executor();
    std::vector<rt::Future<Result<StreamPtr>>> running;
    for (std::size_t i = 0; i < catalogs.size(); ++i) {
        running.push_back(rt::submit(
            executor,
            catalogs[i]->change_properties(orders, incarnation, set(std::to_string(i), "1"))
        ));
    }
    for (auto& change : running) {
        const auto changed = co_await std::move(change);
        EXPECT_TRUE(changed.ok()) << changed.error().to_string();
    }
    co_return true;
}

TEST_P(CatalogTest, changes_of_several_nodes_add_up) {
    const auto a = node();
    const auto b = node();
    const StreamPtr made = run(a->catalog->create(spec(2))).value();
    EXPECT_EQ(run(b->catalog->load(orders)).value()->properties, made->properties);
    Catalog* const on_a = a->catalog.get();
    Catalog* const on_b = b->catalog.get();
    run(change_everywhere({on_a, on_b, on_a, on_b}, made->incarnation));
    // Each node follows, and so does its list.
    for (Catalog* catalog : {on_a, on_b}) {
        const StreamPtr now = run(catalog->load(orders)).value();
        EXPECT_EQ(now->properties.size(), 5);
        EXPECT_EQ(now->logs, made->logs);
        EXPECT_EQ(now->incarnation, made->incarnation);
        EXPECT_EQ(run(catalog->list("default")).value().at(0)->properties, now->properties);
    }
}

TEST_P(CatalogTest, a_refused_change_writes_nothing) {
    const auto a = node();
    const StreamPtr made = run(a->catalog->create(spec(1))).value();
    const std::int64_t before = a->client.writes();
    const auto refused = run(a->catalog->change_properties(
        orders,
        made->incarnation,
        [](const Properties&) -> Result<Properties> { return invalid_argument("no"); }
    ));
    EXPECT_TRUE(refused.is(ErrorCode::invalid_argument));
    const auto same = run(a->catalog->change_properties(
        orders, made->incarnation, [](const Properties& now) -> Result<Properties> { return now; }
    ));
    EXPECT_EQ(same.value()->properties, made->properties);
    EXPECT_EQ(a->client.writes(), before);
    EXPECT_TRUE(run(a->catalog->change_properties(orders, {}, [](const Properties& now) {
                    return Result<Properties>(now);
                })).is(ErrorCode::not_found));
    EXPECT_TRUE(run(a->catalog->drop(orders, {})).ok());
    EXPECT_TRUE(run(a->catalog->grow(orders, made->incarnation, 5)).is(ErrorCode::not_found));
}

TEST_P(CatalogTest, a_stream_grows_and_keeps_what_it_has) {
    const auto a = node();
    const auto b = node();
    const StreamPtr made = run(a->catalog->create(spec(2))).value();
    EXPECT_EQ(run(b->catalog->load(orders)).value()->logs.size(), 2);
    const StreamPtr grown = run(a->catalog->grow(orders, made->incarnation, 12)).value();
    ASSERT_EQ(grown->logs.size(), 12);
    EXPECT_TRUE(std::ranges::equal(made->logs, std::span(grown->logs).first(2)));
    EXPECT_EQ(std::set(grown->logs.begin(), grown->logs.end()).size(), 12);
    EXPECT_EQ(grown->properties, made->properties);
    EXPECT_EQ(run(b->catalog->load(orders)).value()->logs, grown->logs);
    const std::string config = value("/admin/streams/default/orders");
    EXPECT_NE(config.find(R"("partitions":12)"), std::string::npos) << config;
    EXPECT_NE(config.find(R"("numPartitions":"12")"), std::string::npos) << config;
    // Less than there is: nothing to do. Too many: refused.
    EXPECT_EQ(run(b->catalog->grow(orders, made->incarnation, 3)).value()->logs, grown->logs);
    EXPECT_TRUE(
        run(b->catalog->grow(orders, made->incarnation, 100'001)).is(ErrorCode::invalid_argument)
    );
    EXPECT_TRUE(run(b->catalog->drop(orders, {})).ok());
    EXPECT_TRUE(keys("/stream-id/0", "/stream-id/~").empty());
    EXPECT_EQ(b->fenced.logs.size(), 12);
}

/// Nothing of a stream may be left in between, and its name must be usable.
class CatalogFaultTest : public CatalogTest {
  protected:
    using Fault = FaultyClient::Fault;

    void expect_whole(Node& node) {
        const auto stream = run(node.catalog->load(orders));
        if (stream.ok()) {
            EXPECT_EQ(std::set((*stream)->logs.begin(), (*stream)->logs.end()).size(), 3U);
        } else {
            EXPECT_TRUE(stream.is(ErrorCode::not_found)) << stream.error().to_string();
        }
        const auto config = value("/admin/streams/default/orders");
        EXPECT_EQ(config.find("_provisioning"), std::string::npos) << config;
    }

    void expect_usable(Node& node) {
        const Status dropped = run(node.catalog->drop(orders, {}));
        EXPECT_TRUE(dropped.ok() || dropped.is(ErrorCode::not_found));
        EXPECT_TRUE(keys("/stream-id/0", "/stream-id/~").empty());
        const auto again = run(node.catalog->create(spec(3)));
        ASSERT_TRUE(again.ok()) << again.error().to_string();
        for (const LogId log : (*again)->logs) {
            const std::string id = std::to_string(log.v);
            EXPECT_TRUE(
                value(fmt::format("/stream-write-fences/{}", id), id).starts_with("not_found")
            );
        }
    }
};

INSTANTIATE_TEST_SUITE_P(
    Hierarchical, CatalogFaultTest, testing::Values(meta::KeyOrder::hierarchical)
);

struct Plan {
    FaultyClient::Fault fault;
    bool survives;  // the node goes on and must succeed
};

constexpr Plan plans[] = {
    {FaultyClient::Fault::refused, true},
    {FaultyClient::Fault::answer_lost, true},
    {FaultyClient::Fault::crash_before, false},
    {FaultyClient::Fault::crash_after, false},
};

TEST_P(CatalogFaultTest, create_survives_a_fault_at_every_write) {
    for (const Plan& plan : plans) {
        for (std::int64_t write = 0;; ++write) {
            SCOPED_TRACE(fmt::format("fault {} at {}", static_cast<int>(plan.fault), write));
            const auto a = node();
            const std::int64_t before = a->client.writes();
            a->client.plan(write, plan.fault);
            const auto made = run(a->catalog->create(spec(3)));
            const bool met = a->client.writes() - before > write;
            EXPECT_TRUE(made.ok() || !plan.survives) << made.error().to_string();
            const auto b = node();
            EXPECT_TRUE(run(b->catalog->recover()).ok());
            expect_whole(*b);
            expect_usable(*b);
            EXPECT_TRUE(run(b->catalog->drop(orders, {})).ok());
            if (!met) {
                EXPECT_GT(write, 4);
                break;
            }
        }
    }
}

TEST_P(CatalogFaultTest, drop_survives_a_fault_at_every_write) {
    for (const Plan& plan : plans) {
        for (std::int64_t write = 0;; ++write) {
            SCOPED_TRACE(fmt::format("fault {} at {}", static_cast<int>(plan.fault), write));
            const auto a = node();
            const StreamPtr made = run(a->catalog->create(spec(3))).value();
            const std::int64_t before = a->client.writes();
            a->client.plan(write, plan.fault);
            const Status dropped = run(a->catalog->drop(orders, {}));
            const bool met = a->client.writes() - before > write;
            EXPECT_TRUE(dropped.ok() || !plan.survives) << dropped.error().to_string();
            const auto b = node();
            EXPECT_TRUE(run(b->catalog->recover()).ok());
            expect_whole(*b);
            expect_usable(*b);
            EXPECT_NE(run(b->catalog->load(orders)).value()->incarnation, made->incarnation);
            EXPECT_TRUE(run(b->catalog->drop(orders, {})).ok());
            if (!met) {
                EXPECT_GT(write, 6);
                break;
            }
        }
    }
}

TEST_P(CatalogFaultTest, a_change_survives_a_fault_at_every_write) {
    for (const Plan& plan : plans) {
        for (std::int64_t write = 0; write < 2; ++write) {
            SCOPED_TRACE(fmt::format("fault {} at {}", static_cast<int>(plan.fault), write));
            const auto a = node();
            const StreamPtr made = run(a->catalog->create(spec(3))).value();
            a->client.plan(write, plan.fault);
            const auto changed =
                run(a->catalog->change_properties(orders, made->incarnation, set("a", "1")));
            EXPECT_TRUE(changed.ok() || !plan.survives) << changed.error().to_string();
            const auto b = node();
            const StreamPtr now = run(b->catalog->load(orders)).value();
            EXPECT_EQ(now->logs, made->logs);
            EXPECT_EQ(now->properties.at("retention.ms"), "1000");
            if (changed.ok()) {
                EXPECT_EQ(now->properties.at("a"), "1");
                EXPECT_EQ((*changed)->properties, now->properties);
            }
            EXPECT_TRUE(run(b->catalog->drop(orders, {})).ok());
        }
    }
}

TEST_P(CatalogFaultTest, growing_survives_a_fault_at_every_write) {
    for (const Plan& plan : plans) {
        for (std::int64_t write = 0;; ++write) {
            SCOPED_TRACE(fmt::format("fault {} at {}", static_cast<int>(plan.fault), write));
            const auto a = node();
            const StreamPtr made = run(a->catalog->create(spec(2))).value();
            const std::int64_t before = a->client.writes();
            a->client.plan(write, plan.fault);
            const auto grown = run(a->catalog->grow(orders, made->incarnation, 3));
            const bool met = a->client.writes() - before > write;
            EXPECT_TRUE(grown.ok() || !plan.survives) << grown.error().to_string();
            const auto b = node();
            // Whatever happened, the stream serves what it had.
            const StreamPtr seen = run(b->catalog->load(orders)).value();
            EXPECT_TRUE(std::ranges::equal(made->logs, std::span(seen->logs).first(2)));
            EXPECT_TRUE(run(b->catalog->recover()).ok());
            const std::string config = value("/admin/streams/default/orders");
            EXPECT_EQ(config.find("_pendingExpansion"), std::string::npos) << config;
            const StreamPtr whole = run(b->catalog->grow(orders, made->incarnation, 3)).value();
            EXPECT_TRUE(std::ranges::equal(made->logs, std::span(whole->logs).first(2)));
            EXPECT_EQ(whole->properties, made->properties);
            expect_whole(*b);
            expect_usable(*b);
            EXPECT_TRUE(run(b->catalog->drop(orders, {})).ok());
            if (!met) {
                EXPECT_GT(write, 4);
                break;
            }
        }
    }
}

/// A drop buries also the logs that a crash left half made.
TEST_P(CatalogFaultTest, a_drop_finishes_what_growing_left) {
    for (std::int64_t write = 0; write < 6; ++write) {
        SCOPED_TRACE(write);
        const auto a = node();
        const StreamPtr made = run(a->catalog->create(spec(1))).value();
        a->client.plan(write, Fault::crash_after);
        static_cast<void>(run(a->catalog->grow(orders, made->incarnation, 3)));
        const auto b = node();
        expect_usable(*b);
        EXPECT_TRUE(run(b->catalog->drop(orders, {})).ok());
    }
}

/// Without a restart anywhere: the next create under the name finishes what a crash left.
TEST_P(CatalogFaultTest, the_next_create_finishes_what_a_crash_left) {
    for (std::int64_t write = 0; write < 5; ++write) {
        SCOPED_TRACE(write);
        const auto a = node();
        const auto b = node();
        a->client.plan(write, Fault::crash_after);
        EXPECT_FALSE(run(a->catalog->create(spec(3))).ok());
        const auto second = run(b->catalog->create(spec(3)));
        EXPECT_TRUE(second.ok() || second.is(ErrorCode::already_exists));
        expect_whole(*b);
        EXPECT_TRUE(run(b->catalog->load(orders)).ok());
        EXPECT_TRUE(run(b->catalog->drop(orders, {})).ok());
    }
}

rt::Task<bool> create_and_tell(Catalog& catalog, int& done, std::vector<Result<StreamPtr>>& out) {
    out.push_back(co_await catalog.create(spec(3)));
    ++done;
    co_return true;
}

rt::Task<bool> drop_and_tell(Catalog& catalog, int& done) {
    const Status status = co_await catalog.drop(orders, {});
    EXPECT_TRUE(status.ok() || status.is(ErrorCode::not_found)) << status.error().to_string();
    ++done;
    co_return true;
}

/// Creators and droppers on several nodes at once: one winner, and a whole stream or none.
TEST(CatalogRaces, creators_and_droppers_meet) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        rt::SimTest sim(seed);
        meta::MemoryMetadata server(sim.executor, {.shards = 3});
        std::vector<std::unique_ptr<Node>> nodes;
        std::vector<std::unique_ptr<rt::SimExecutor>> executors;
        int done = 0;
        std::vector<Result<StreamPtr>> made;
        for (std::uint64_t i = 0; i < 4; ++i) {
            nodes.push_back(std::make_unique<Node>(sim, server));
            executors.push_back(
                std::make_unique<rt::SimExecutor>(sim.loop, sim.clock, seed * 10 + i)
            );
        }
        for (std::size_t i = 0; i < 4; ++i) {
            auto task = i == 3 ? drop_and_tell(*nodes[i]->catalog, done)
                               : create_and_tell(*nodes[i]->catalog, done, made);
            static_cast<void>(rt::submit(*executors[i], std::move(task)));
        }
        ASSERT_TRUE(sim.loop.run_until([&] { return done == 4; }));
        std::set<LogId> logs;
        std::size_t winners = 0;
        for (const Result<StreamPtr>& each : made) {
            if (each.ok()) {
                ++winners;
                logs.insert((*each)->logs.begin(), (*each)->logs.end());
            } else {
                EXPECT_TRUE(each.is(ErrorCode::already_exists) || each.is(ErrorCode::conflict))
                    << each.error().to_string();
            }
        }
        EXPECT_EQ(logs.size(), winners * 3);
        const Node last(sim, server);
        EXPECT_TRUE(sim.run(last.catalog->recover()).ok());
        const auto now = sim.run(last.catalog->load(orders));
        EXPECT_TRUE(now.ok() || now.is(ErrorCode::not_found)) << now.error().to_string();
    }
}

/// A node whose way to the store loses, delays and repeats.
struct ShakyNode {
    ShakyNode(rt::SimTest& sim, meta::MemoryMetadata& server, std::uint64_t seed)
        : executor(sim.loop, sim.clock, seed),
          store(server, executor),
          client(store, executor, sim.executor, {}, seed),
          catalog(sim.run(MetadataCatalog::open(client, fenced, executor)).value()) {}

    rt::SimExecutor executor;
    meta::MemoryStore store;
    meta::testing::FaultyMetadata client;
    FencedLogs fenced;
    std::unique_ptr<MetadataCatalog> catalog;
};

/// Create, drop and load at random; whatever is created has logs that nobody had before.
rt::Task<bool> work(Catalog& catalog, std::uint64_t seed, std::set<LogId>& logs, int& done) {
    rt::Rng rng(seed);
    for (int i = 0; i < 6; ++i) {
        if (rng.chance(1, 2)) {
            const auto made = co_await catalog.create(spec(3));
            for (const LogId log : made.ok() ? (*made)->logs : std::vector<LogId>()) {
                EXPECT_TRUE(logs.insert(log).second) << "log " << log.v << " given twice";
            }
        } else {
            static_cast<void>(co_await catalog.drop(orders, {}));
        }
        static_cast<void>(co_await catalog.load(orders));
        static_cast<void>(co_await catalog.list("default"));
    }
    ++done;
    co_return true;
}

TEST(CatalogRaces, streams_stay_whole_over_a_bad_network) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        rt::SimTest sim(seed);
        meta::MemoryMetadata server(sim.executor, {.shards = 3});
        std::vector<std::unique_ptr<ShakyNode>> nodes;
        std::set<LogId> logs;
        int done = 0;
        for (std::uint64_t i = 0; i < 3; ++i) {
            nodes.push_back(std::make_unique<ShakyNode>(sim, server, seed * 10 + i));
            nodes.back()->client.set_faults({
                .refuse = {1, 20},
                .drop = {1, 20},
                .lose_answer = {1, 10},
                .apply_late = {1, 20},
                .fail_read = {1, 30},
                .delay_change = {1, 4},
                .repeat_change = {1, 4},
                .gap = {1, 50},
                .request_delay_max = 5ms,
                .answer_delay_max = 5ms,
            });
            static_cast<void>(rt::submit(
                nodes.back()->executor, work(*nodes.back()->catalog, seed * 7 + i, logs, done)
            ));
        }
        ASSERT_TRUE(sim.loop.run_until([&] { return done == 3; }));
        for (const auto& each : nodes) {
            each->client.heal();
        }
        sim.loop.run_for(60s);  // everything late arrives
        EXPECT_TRUE(sim.run(nodes[0]->catalog->recover()).ok());
        sim.loop.run_for(10s);
        const auto expected = sim.run(nodes[0]->catalog->load(orders));
        EXPECT_TRUE(expected.ok() || expected.is(ErrorCode::not_found))
            << expected.error().to_string();
        for (const auto& each : nodes) {
            const auto found = sim.run(each->catalog->load(orders));
            ASSERT_EQ(found.ok(), expected.ok());
            if (found.ok()) {
                EXPECT_EQ((*found)->incarnation, (*expected)->incarnation);
                EXPECT_EQ((*found)->logs, (*expected)->logs);
            }
            EXPECT_EQ(sim.run(each->catalog->list("default")).value().size(), found.ok() ? 1U : 0U);
        }
        const Status dropped = sim.run(nodes[1]->catalog->drop(orders, {}));
        EXPECT_EQ(dropped.ok(), expected.ok());
        const auto again = sim.run(nodes[2]->catalog->create(spec(3)));
        ASSERT_TRUE(again.ok()) << again.error().to_string();
    }
}

TEST(StreamCache, what_changed_during_a_load_is_not_kept) {
    StreamCache cache;
    auto info = std::make_shared<StreamInfo>();
    info->name = orders;
    info->incarnation[0] = std::byte{1};
    const auto ticket = cache.begin_load();
    cache.changed(orders, meta::VersionId(7));
    cache.loaded(ticket, {info, meta::VersionId(6)});
    EXPECT_EQ(cache.find(orders), nullptr);
    cache.loaded(ticket, {info, meta::VersionId(7)});
    EXPECT_EQ(cache.find(orders), info);
    EXPECT_EQ(cache.find(info->incarnation), info);
    cache.changed(orders, meta::VersionId(7));  // told late: what we have is it
    EXPECT_EQ(cache.find(orders), info);
    cache.changed(orders, std::nullopt);
    EXPECT_EQ(cache.find(orders), nullptr);
    EXPECT_EQ(cache.find(info->incarnation), nullptr);
}

TEST(StreamCache, a_list_waits_for_what_changed_since) {
    StreamCache cache;
    auto info = std::make_shared<StreamInfo>();
    info->name = orders;
    EXPECT_FALSE(cache.list("default", MonoTime()).has_value());
    const auto ticket = cache.begin_load();
    cache.changed({"default", "new"}, meta::VersionId(9));
    cache.listed(ticket, {.ns = "default", .when = MonoTime()}, {{info, meta::VersionId(3)}});
    EXPECT_FALSE(cache.list("default", MonoTime()).has_value());
    EXPECT_EQ(cache.stale("default"), (std::vector<StreamName>{{"default", "new"}}));
    cache.loaded_absent(cache.begin_load(), {"default", "new"});
    EXPECT_EQ(cache.list("default", MonoTime()).value(), std::vector<StreamPtr>{info});
    cache.clear();  // a gap
    EXPECT_FALSE(cache.list("default", MonoTime()).has_value());
    cache.listed(ticket, {.ns = "default", .when = MonoTime()}, {});
    EXPECT_FALSE(cache.list("default", MonoTime()).has_value());
}

}  // namespace
}  // namespace lakestream::catalog
