// SPDX-License-Identifier: Apache-2.0
// Coordinators on a metadata store with everything that goes wrong there: what was acknowledged is
// never lost, what a zombie writes never counts, and what is removed leaves nothing behind.
#include "kafka/groups/coordinator.h"

#include <gtest/gtest.h>

#include <set>

#include "base/format.h"
#include "kafka/testing/fake_catalog.h"
#include "meta/memory_store.h"
#include "meta/testing/faulty_metadata.h"
#include "rt/sim/testing.h"

namespace lakestream::kafka::groups {
namespace {

using kafka::testing::FakeCatalog;
using meta::testing::FaultyMetadata;
using meta::testing::MetadataFaults;

/// What belongs to the world and not to the process: it outlives a crash.
struct Machine {
    Machine(rt::SimTest& sim, meta::MemoryMetadata& service, MetadataFaults faults, std::uint64_t n)
        : executor(sim.loop, sim.clock, n),
          store(service, sim.executor),
          metadata(store, executor, sim.executor, faults, n) {}

    rt::SimExecutor executor;
    meta::MemoryStore store;
    FaultyMetadata metadata;
};

/// The metadata service, which survives; nodes come and go.
struct World {
    explicit World(std::uint64_t seed = 1) : sim(seed) {}
    ~World() {
        for (const auto& machine : machines) {
            machine->metadata.heal();
        }
        sim.loop.run_for(10min);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    Machine& add_machine(MetadataFaults faults) {
        return *machines.emplace_back(
            std::make_unique<Machine>(sim, service, faults, machines.size() + 2)
        );
    }

    rt::SimTest sim;
    FakeCatalog catalog;
    metrics::Registry registry;
    Metrics metrics{registry};
    meta::MemoryMetadata service{sim.executor};
    meta::MemoryStore direct{service, sim.executor};
    catalog::StreamPtr topic = catalog.add("t", 10);
    std::vector<std::unique_ptr<Machine>> machines;

    /// All that is stored under a prefix, by key.
    std::vector<std::string> keys(const std::string& part) {
        auto all = sim.run(list_all(direct));
        std::erase_if(*all, [&](const std::string& key) {
            return key.find(part) == std::string::npos;
        });
        return std::move(*all);
    }
    static rt::Task<Result<std::vector<std::string>>> list_all(meta::MetadataStore& store) {
        co_return co_await store.list({});
    }
};

/// One process with one coordinator.
class Node {
  public:
    explicit Node(World& world, GroupOptions options = {}, MetadataFaults faults = {})
        : world_(world),
          options_(options),
          machine_(world.add_machine(faults)),
          executor_(machine_.executor),
          metadata(machine_.metadata),
          coordinator(
              executor_,
              {.metadata = metadata, .catalog = world.catalog, .metrics = world.metrics},
              options_,
              fmt::format("node-{}", world.machines.size()),
              [](std::string_view) { return true; }
          ) {}
    ~Node() {
        if (!executor_.dead()) {
            run(stop());
            executor_.kill();
        }
    }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    void crash() {
        executor_.kill();
        coordinator.abandon();
    }

    template <class T>
    T run(rt::Task<T> task) {
        std::optional<T> result;
        auto waiting = rt::submit(executor_, keep(std::move(task), result));
        LKS_ASSERT(world_.sim.loop.run_until([&] { return result.has_value(); }));
        return std::move(*result);
    }

    KafkaError commit(std::int32_t partition, std::int64_t offset, MemberClaim member = {}) {
        auto done = run(coordinator.commit("g", request(partition, offset, std::move(member))));
        return done.ok() ? *done : KafkaError::coordinator_load_in_progress;
    }
    rt::Future<Result<KafkaError>> start_commit(
        std::int32_t partition, std::int64_t offset, MemberClaim member
    ) {
        return rt::submit(
            executor_, coordinator.commit("g", request(partition, offset, std::move(member)))
        );
    }
    CommitRequest request(std::int32_t partition, std::int64_t offset, MemberClaim member = {}) {
        CommitRequest commit{.member = std::move(member)};
        commit.offsets[{"t", partition}] = Committed{
            .offset = offset,
            .at = world_.sim.clock.wall_now(),
            .topic_id = world_.topic->incarnation,
        };
        return commit;
    }
    /// -1: none; -2: an error.
    std::int64_t fetch(std::int32_t partition) {
        const auto fetched = run(coordinator.fetch("g", std::vector<OffsetKey>{{"t", partition}}));
        if (!fetched.ok()) {
            return -2;
        }
        return fetched->front().committed.has_value() ? fetched->front().committed->offset : -1;
    }
    rt::Future<Result<JoinAnswer>> join(const std::string& id, bool known = false) {
        JoinRequest request{
            .member_id = known ? id : "",
            .fresh_id = id,
            .client_id = "c",
            .client_host = "/h",
            .session_timeout = 10s,
            .rebalance_timeout = 60s,
            .protocol_type = "consumer",
            .protocols = {{.name = "range", .metadata = subscription}},
        };
        return rt::submit(executor_, coordinator.join("g", std::move(request)));
    }
    rt::Future<Result<SyncAnswer>> sync(const std::string& id, std::int32_t generation) {
        SyncRequest request{
            .member = {.member_id = id, .generation = generation},
            .assignments = {{id, Bytes::copy("part")}},
        };
        return rt::submit(executor_, coordinator.sync("g", std::move(request)));
    }
    template <class T>
    T wait(rt::Future<T> future) {
        return run(await(std::move(future)));
    }
    KafkaError heartbeat(const std::string& id, std::int32_t generation) {
        return *run(coordinator.heartbeat("g", {.member_id = id, .generation = generation}));
    }
    /// Alone in its group, with its part.
    std::int32_t make_member(const std::string& id) {
        const auto joined = wait(join(id));
        EXPECT_EQ(joined->error, KafkaError::none);
        EXPECT_EQ(wait(sync(id, joined->generation))->error, KafkaError::none);
        return joined->generation;
    }
    void sweep() {
        run([](Coordinator& c) -> rt::Task<bool> {
            co_await c.sweep();
            co_return true;
        }(coordinator));
    }

  private:
    template <class T>
    static rt::Task<bool> keep(rt::Task<T> task, std::optional<T>& result) {
        result.emplace(co_await std::move(task));
        co_return true;
    }
    template <class T>
    static rt::Task<T> await(rt::Future<T> future) {
        co_return co_await std::move(future);
    }
    rt::Task<bool> stop() {
        co_await coordinator.close();
        co_return true;
    }

    World& world_;
    GroupOptions options_;
    Machine& machine_;
    rt::SimExecutor& executor_;

  public:
    /// Of its members: the topic "t".
    Bytes subscription = Bytes::copy(std::string_view("\0\0\0\0\0\1\0\1t\xff\xff\xff\xff", 13));
    FaultyMetadata& metadata;
    Coordinator coordinator;
};

TEST(Coordinator, offsets_of_topics_that_no_member_reads_expire_as_well) {
    World world;
    const GroupOptions options{.initial_rebalance_delay = 0s, .offsets_retention = 2h};
    for (const bool readable : {true, false}) {
        Node node(world, options);
        if (!readable) {
            node.subscription = Bytes::copy("not Kafka's");
        }
        world.catalog.add("u", 1);
        CommitRequest commit = node.request(0, 1);
        commit.offsets[{"u", 0}] = commit.offsets.begin()->second;
        commit.offsets[{"u", 0}]->topic_id = world.catalog.add("u", 1)->incarnation;
        ASSERT_EQ(*node.run(node.coordinator.commit("g", std::move(commit))), KafkaError::none);
        const std::int32_t generation = node.make_member("m");
        for (int i = 0; i < 3 * 60 * 12; ++i) {
            world.sim.loop.run_for(5s);
            ASSERT_EQ(node.heartbeat("m", generation), KafkaError::none);
        }
        node.sweep();
        const auto left = node.run(node.coordinator.fetch("g", std::nullopt));
        EXPECT_EQ(left->size(), readable ? 1U : 2U);
        EXPECT_EQ(left->front().key.topic, "t");
        const auto gone = node.run(node.coordinator.leave("g", {{.member_id = "m"}}));
        EXPECT_EQ(gone->front().error, KafkaError::none);
    }
}

constexpr GroupOptions at_once{.initial_rebalance_delay = 0s};

TEST(Coordinator, offsets_survive_a_stop_and_a_crash) {
    World world;
    {
        Node node(world);
        EXPECT_EQ(node.fetch(0), -1);
        EXPECT_TRUE(world.keys("/lks/group").empty()) << "to ask for a group makes none";
        EXPECT_EQ(node.commit(0, 5), KafkaError::none);
        EXPECT_EQ(node.commit(1, 6), KafkaError::none);
        EXPECT_EQ(node.commit(0, 7), KafkaError::none);
        EXPECT_EQ(node.fetch(0), 7);
    }
    Node second(world);
    EXPECT_EQ(second.fetch(0), 7);
    EXPECT_EQ(second.commit(0, 8), KafkaError::none);
    second.crash();
    Node third(world);
    EXPECT_EQ(third.fetch(0), 8);
    EXPECT_EQ(third.fetch(1), 6);
    EXPECT_EQ(third.fetch(2), -1);
    EXPECT_EQ(world.keys("/epoch").size(), 1U);
}

TEST(Coordinator, a_commit_is_one_write_and_idle_groups_write_nothing) {
    World world;
    Node node(world);
    ASSERT_EQ(node.commit(0, 1), KafkaError::none);
    const auto version = [&] {
        return world.sim.run(meta::put(world.direct, {.key = "x", .value = {}}))->version.id.v;
    };
    const std::int64_t before = version();
    ASSERT_EQ(node.commit(0, 2), KafkaError::none);
    EXPECT_EQ(version() - before, 3) << "the offset, the epoch, and our own look";
    const std::int32_t generation = node.make_member("m");
    const std::int64_t stable = version();
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(node.heartbeat("m", generation), KafkaError::none);
        world.sim.loop.run_for(1s);
    }
    node.sweep();
    EXPECT_EQ(version() - stable, 1);
}

TEST(Coordinator, a_zombie_coordinator_is_refused_and_its_late_commit_does_not_count) {
    World world;
    Node old(world);
    ASSERT_EQ(old.commit(0, 5), KafkaError::none);
    Node other(world);
    EXPECT_EQ(other.fetch(0), 5);
    EXPECT_EQ(old.commit(0, 6), KafkaError::not_coordinator);
    EXPECT_EQ(other.fetch(0), 5);
    // What the zombie wrote is in the way of the next commit, and is no obstacle.
    EXPECT_EQ(other.commit(0, 7), KafkaError::none);
    Node third(world);
    EXPECT_EQ(third.fetch(0), 7);
    EXPECT_EQ(other.fetch(0), -2) << "a zombie does not answer with what it knew";
    ASSERT_EQ(third.fetch(0), 7);
    EXPECT_EQ(other.commit(0, 8), KafkaError::none) << "it takes the group over again";
    EXPECT_EQ(third.commit(0, 9), KafkaError::not_coordinator);
    Node fourth(world);
    EXPECT_EQ(fourth.fetch(0), 8) << "what lies below a void record counts";
}

TEST(Coordinator, members_survive_a_restart_and_old_generations_are_refused) {
    World world;
    std::int32_t generation = 0;
    {
        Node node(world, at_once);
        generation = node.make_member("m");
        ASSERT_EQ(
            node.commit(0, 3, {.member_id = "m", .generation = generation}), KafkaError::none
        );
        node.crash();
    }
    Node node(world, at_once);
    EXPECT_EQ(node.heartbeat("m", generation), KafkaError::none);
    EXPECT_EQ(
        node.commit(0, 4, {.member_id = "m", .generation = generation - 1}),
        KafkaError::illegal_generation
    );
    EXPECT_EQ(node.commit(0, 4, {.member_id = "m", .generation = generation}), KafkaError::none);
    EXPECT_EQ(
        node.commit(0, 4, {.member_id = "x", .generation = generation}),
        KafkaError::unknown_member_id
    );
    world.sim.loop.run_for(11s);
    EXPECT_EQ(node.heartbeat("m", generation), KafkaError::unknown_member_id);
    EXPECT_EQ(node.run(node.coordinator.describe("g"))->state, GroupState::empty);
    EXPECT_EQ(node.fetch(0), 4);
}

TEST(Coordinator, a_store_that_refuses_for_too_long_is_told_to_the_client) {
    World world;
    Node node(world, at_once);
    ASSERT_EQ(node.commit(0, 1), KafkaError::none);
    node.metadata.set_full(true);
    const MonoTime asked = world.sim.loop.now();
    EXPECT_EQ(node.commit(0, 2), KafkaError::coordinator_not_available);
    EXPECT_GE(world.sim.loop.now() - asked, 5s);
    EXPECT_LE(world.sim.loop.now() - asked, 8s);
    EXPECT_EQ(node.fetch(0), 1);
    auto joining = node.join("m");
    const auto joined = node.wait(std::move(joining));
    ASSERT_EQ(joined->error, KafkaError::none);
    EXPECT_EQ(
        node.wait(node.sync("m", joined->generation))->error, KafkaError::coordinator_not_available
    );
    node.metadata.heal();
    const auto again = node.wait(node.join("m", true));
    EXPECT_EQ(again->generation, joined->generation + 1);
    EXPECT_EQ(node.wait(node.sync("m", again->generation))->assignment, Bytes::copy("part"));
    EXPECT_EQ(
        node.commit(0, 2, {.member_id = "m", .generation = again->generation}), KafkaError::none
    );
}

TEST(Coordinator, an_unknown_outcome_is_resolved_under_a_new_epoch) {
    World world;
    Node node(world, at_once);
    const std::int32_t generation = node.make_member("m");
    const MemberClaim member{.member_id = "m", .generation = generation};
    MetadataFaults lost;
    lost.lose_answer = {1, 1};
    MetadataFaults late;
    late.apply_late = {1, 1};
    std::int64_t offset = 0;
    for (const MetadataFaults& faults : {lost, late}) {
        node.metadata.set_faults(faults);
        auto committing = node.start_commit(0, ++offset, member);
        world.sim.loop.run_for(50ms);
        node.metadata.heal();
        EXPECT_EQ(*node.wait(std::move(committing)), KafkaError::none);
        EXPECT_EQ(node.fetch(0), offset);
        EXPECT_EQ(node.heartbeat("m", generation), KafkaError::none) << "members notice nothing";
        world.sim.loop.run_for(9s);
        EXPECT_EQ(node.fetch(0), offset);
        ASSERT_EQ(node.commit(1, offset, member), KafkaError::none);
    }
    EXPECT_GE(world.metrics.takeovers.value(), 3U);
}

TEST(Coordinator, acknowledged_commits_are_never_lost_whatever_happens) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        SCOPED_TRACE(seed);
        World world(seed);
        rt::Rng rng(seed);
        MetadataFaults faults;
        faults.refuse = {1, 10};
        faults.drop = {1, 10};
        faults.lose_answer = {1, 10};
        faults.apply_late = {1, 10};
        faults.fail_read = {1, 10};
        faults.cut_scan = {1, 5};
        faults.request_delay_max = 20ms;
        faults.answer_delay_max = 20ms;
        std::vector<std::unique_ptr<Node>> nodes;
        nodes.push_back(std::make_unique<Node>(world, at_once, faults));
        std::int64_t acknowledged = -1;
        std::int64_t tried = -1;
        for (int i = 0; i < 60; ++i) {
            Node& node = *nodes[rng.below(nodes.size())];
            if (node.commit(0, ++tried) == KafkaError::none) {
                acknowledged = tried;
            }
            if (rng.chance(1, 8)) {
                nodes.push_back(std::make_unique<Node>(world, at_once, faults));
            } else if (rng.chance(1, 10)) {
                nodes.back()->crash();
                nodes.pop_back();
                if (nodes.empty()) {
                    nodes.push_back(std::make_unique<Node>(world, at_once, faults));
                }
            }
            const std::int64_t read = nodes[rng.below(nodes.size())]->fetch(0);
            if (read != -2) {
                // One not acknowledged may count or not, but not now and later not.
                ASSERT_GE(read, acknowledged);
                ASSERT_LE(read, tried);
                acknowledged = std::max(acknowledged, read);
            }
        }
        for (const auto& node : nodes) {
            node->metadata.heal();
        }
        world.sim.loop.run_for(10s);
        Node last(world);
        ASSERT_GE(last.fetch(0), acknowledged);
        ASSERT_LE(last.fetch(0), tried);
    }
}

TEST(Coordinator, a_deleted_group_leaves_nothing_and_may_be_made_again) {
    World world;
    Node node(world, at_once);
    ASSERT_EQ(node.commit(0, 1), KafkaError::none);
    const std::int32_t generation = node.make_member("m");
    EXPECT_EQ(*node.run(node.coordinator.remove("g")), KafkaError::non_empty_group);
    const auto left = node.run(node.coordinator.leave("g", {{.member_id = "m"}}));
    EXPECT_EQ(left->front().error, KafkaError::none);
    EXPECT_EQ(*node.run(node.coordinator.remove("g")), KafkaError::none);
    EXPECT_EQ(*node.run(node.coordinator.remove("g")), KafkaError::group_id_not_found);
    EXPECT_TRUE(node.run(node.coordinator.describe("g")).is(ErrorCode::not_found));
    EXPECT_EQ(node.fetch(0), -1);
    world.sim.loop.run_for(1s);
    EXPECT_TRUE(world.keys("/lks/group").empty());
    Node second(world);
    EXPECT_EQ(second.fetch(0), -1);
    EXPECT_EQ(
        node.commit(0, 9, {.member_id = "m", .generation = generation}),
        KafkaError::illegal_generation
    );
    EXPECT_EQ(second.commit(0, 2), KafkaError::none);
    EXPECT_EQ(second.fetch(0), 2);
}

TEST(Coordinator, removed_offsets_stay_removed_after_a_crash_at_once) {
    World world;
    {
        Node node(world);
        ASSERT_EQ(node.commit(0, 1), KafkaError::none);
        ASSERT_EQ(node.commit(1, 1), KafkaError::none);
        const auto removed = node.run(node.coordinator.remove_offsets("g", {{"t", 0}, {"t", 5}}));
        EXPECT_EQ(removed->first, KafkaError::none);
        node.crash();
    }
    Node node(world);
    EXPECT_EQ(node.fetch(0), -1);
    EXPECT_EQ(node.fetch(1), 1);
    world.sim.loop.run_for(1s);
    EXPECT_EQ(world.keys("/c:").size(), 1U);
}

TEST(Coordinator, offsets_expire_after_the_group_has_been_empty_for_long_enough) {
    World world;
    const GroupOptions options{.initial_rebalance_delay = 0s, .offsets_retention = 2h};
    Node node(world, options);
    const std::int32_t generation = node.make_member("m");
    const MemberClaim member{.member_id = "m", .generation = generation};
    ASSERT_EQ(node.commit(0, 1, member), KafkaError::none);
    for (int i = 0; i < 3 * 60 * 12; ++i) {
        world.sim.loop.run_for(5s);
        ASSERT_EQ(node.heartbeat("m", generation), KafkaError::none);
    }
    node.sweep();
    EXPECT_EQ(node.fetch(0), 1) << "members are there";
    world.sim.loop.run_for(110min);
    node.sweep();
    EXPECT_EQ(node.fetch(0), 1);
    world.sim.loop.run_for(20min);
    node.sweep();
    EXPECT_EQ(node.fetch(0), -1);
    world.sim.loop.run_for(1s);
    EXPECT_TRUE(world.keys("/lks/group").empty());
    EXPECT_EQ(world.metrics.offsets_expired.value(), 1U);
}

TEST(Coordinator, groups_that_nobody_asks_for_expire_as_well) {
    World world;
    const GroupOptions options{.offsets_retention = 24h};
    {
        Node node(world, options);
        ASSERT_EQ(node.commit(0, 1), KafkaError::none);
    }
    Node node(world, options);
    world.sim.loop.run_for(23h);
    node.sweep();
    EXPECT_EQ(world.keys("/c:").size(), 1U);
    EXPECT_EQ(world.metrics.takeovers.value(), 1U) << "not even looked at";
    world.sim.loop.run_for(2h);
    node.sweep();
    world.sim.loop.run_for(1s);
    EXPECT_TRUE(world.keys("/lks/group").empty());
}

TEST(Coordinator, a_clock_that_jumps_expires_nothing) {
    World world;
    const GroupOptions options{.offsets_retention = 24h};
    Node node(world, options);
    ASSERT_EQ(node.commit(0, 1), KafkaError::none);
    world.sim.loop.run_for(2h);
    for (const auto error : {std::chrono::hours(24 * 365), std::chrono::hours(-1)}) {
        world.sim.clock.set_wall_error(error);
        node.sweep();
        EXPECT_EQ(node.fetch(0), 1);
        ASSERT_EQ(node.commit(1, 2), KafkaError::none);
    }
    world.sim.clock.set_wall_error(std::chrono::hours(-1));
    world.sim.loop.run_for(20h);
    node.sweep();
    EXPECT_EQ(node.fetch(0), 1);
    // A node that starts with a wrong clock has an hour to be told.
    world.sim.clock.set_wall_error(std::chrono::hours(24 * 365));
    Node wrong(world, options);
    wrong.sweep();
    EXPECT_EQ(wrong.fetch(0), 1);
    world.sim.clock.set_wall_error(std::chrono::hours(0));
    world.sim.loop.run_for(1h);
    wrong.sweep();
    EXPECT_EQ(wrong.fetch(0), 1);
}

TEST(Coordinator, offsets_go_with_their_topic) {
    World world;
    Node node(world);
    ASSERT_EQ(node.commit(0, 1), KafkaError::none);
    node.sweep();
    node.sweep();
    EXPECT_EQ(node.fetch(0), 1);
    world.topic = world.catalog.add("t", 10);  // another one under the name
    node.sweep();
    EXPECT_EQ(node.fetch(0), -1);
    ASSERT_EQ(node.commit(0, 2), KafkaError::none);
    ASSERT_TRUE(world.sim.run(world.catalog.drop({.ns = "default", .name = "t"}, {})).ok());
    node.sweep();
    EXPECT_EQ(node.fetch(0), 2) << "missed once may be a mistake";
    node.sweep();
    EXPECT_EQ(node.fetch(0), -1);
    world.topic = world.catalog.add("t", 10);
    ASSERT_EQ(node.commit(0, 3), KafkaError::none);
    node.coordinator.topic_dropped(world.topic->incarnation);
    world.sim.loop.run_for(1s);
    EXPECT_EQ(node.fetch(0), -1);
    world.sim.loop.run_for(1s);
    EXPECT_TRUE(world.keys("/c:").empty());
}

TEST(Coordinator, a_topic_goes_from_many_groups_while_they_come_and_go) {
    World world;
    Node node(world);
    constexpr int count = 3000;
    const auto commit = [&](int i) {
        return rt::submit(
            world.machines.back()->executor,
            node.coordinator.commit(fmt::format("g{:04}", i), node.request(0, i))
        );
    };
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(*node.wait(commit(i)), KafkaError::none);
    }
    const Uuid old = world.topic->incarnation;
    world.topic = world.catalog.add("t", 10);
    node.coordinator.topic_dropped(old);
    node.coordinator.topic_dropped(Uuid{});
    // Neighbours of those that it looks at leave, and others commit to the new topic.
    std::vector<rt::Future<Result<KafkaError>>> removing;
    for (int i = 900; i < 1100; ++i) {
        removing.push_back(rt::submit(
            world.machines.back()->executor, node.coordinator.remove(fmt::format("g{:04}", i))
        ));
    }
    auto fresh = commit(count);
    for (auto& removed : removing) {
        EXPECT_EQ(*node.wait(std::move(removed)), KafkaError::none);
    }
    EXPECT_EQ(*node.wait(std::move(fresh)), KafkaError::none);
    world.sim.loop.run_for(1s);
    EXPECT_EQ(world.keys("/c:"), std::vector<std::string>{"/lks/group/g3000/c:t:0"});
}

TEST(Coordinator, a_group_deleted_by_two_at_once_is_deleted_once) {
    World world;
    Node node(world);
    for (const bool given_up : {false, true}) {
        ASSERT_EQ(node.commit(0, 1), KafkaError::none);
        if (given_up) {
            MetadataFaults lost;
            lost.lose_answer = {1, 1};
            node.metadata.set_faults(lost);
            auto unknown = node.start_commit(0, 2, {});
            world.sim.loop.run_for(5ms);
            node.metadata.heal();
        }
        std::multiset<KafkaError> answers;
        std::vector<rt::Future<Result<KafkaError>>> removing;
        for (int i = 0; i < 3; ++i) {
            removing.push_back(
                rt::submit(world.machines.back()->executor, node.coordinator.remove("g"))
            );
        }
        for (auto& removed : removing) {
            answers.insert(*node.wait(std::move(removed)));
        }
        EXPECT_EQ(
            answers,
            (std::multiset{
                KafkaError::none, KafkaError::group_id_not_found, KafkaError::group_id_not_found
            })
        );
    }
}

TEST(Coordinator, groups_that_were_never_stored_leave_nothing) {
    World world;
    Node node(world, {.initial_rebalance_delay = 0s, .memory_max = 64 << 10});
    const auto invite = [&](const std::string& group) {
        JoinRequest request{
            .fresh_id = "m",
            .session_timeout = 10s,
            .protocol_type = "consumer",
            .protocols = {{.name = "range", .metadata = node.subscription}},
            .id_policy = IdPolicy::ask_again,
        };
        return node.run(node.coordinator.join(group, std::move(request)))->error;
    };
    for (int i = 0; i < 200; ++i) {
        world.sim.loop.run_for(1s);
        ASSERT_EQ(invite(fmt::format("g{}", i)), KafkaError::member_id_required);
    }
    world.sim.loop.run_for(1s);
    EXPECT_LT(world.keys("/epoch").size(), 40U) << "of those in memory";
    world.sim.loop.run_for(2min);
    node.sweep();
    world.sim.loop.run_for(1s);
    EXPECT_TRUE(world.keys("/lks/group").empty());
}

TEST(Coordinator, many_partitions_are_few_writes) {
    World world;
    Node node(world);
    world.topic = world.catalog.add("t", 50'000);
    CommitRequest request;
    for (std::int32_t i = 0; i < 50'000; ++i) {
        request.offsets.merge(node.request(i, i + 1).offsets);
    }
    EXPECT_EQ(*node.run(node.coordinator.commit("g", std::move(request))), KafkaError::none);
    Node second(world);
    EXPECT_EQ(second.fetch(49'999), 50'000);
    EXPECT_EQ(second.run(second.coordinator.fetch("g", std::nullopt))->size(), 50'000U);
}

TEST(Coordinator, what_a_zombie_made_of_the_group_is_written_over) {
    World world;
    Node old(world, at_once);
    old.make_member("m");
    Node other(world, at_once);
    ASSERT_EQ(other.fetch(0), -1);
    const auto joined = old.wait(old.join("m", true));
    ASSERT_EQ(joined->error, KafkaError::none);
    EXPECT_EQ(old.wait(old.sync("m", joined->generation))->error, KafkaError::not_coordinator);
    const auto stored = [&] {
        return world.sim.run(find_group(world.direct, keys::group("g")))->value();
    };
    ASSERT_EQ(stored().members.size(), 1U) << "it is there, and does not count";
    Node third(world, at_once);
    EXPECT_EQ(third.run(third.coordinator.describe("g"))->state, GroupState::empty);
    world.sim.loop.run_for(1s);
    EXPECT_EQ(stored().members.size(), 0U);
    EXPECT_EQ(stored().generation, joined->generation) << "no number is given twice";
    EXPECT_EQ(third.wait(third.join("n"))->generation, joined->generation + 1);
}

TEST(Coordinator, a_group_that_is_not_there_may_have_been_made_by_others) {
    World world;
    Node old(world, at_once);
    JoinRequest request{
        .fresh_id = "m",
        .session_timeout = 10s,
        .protocol_type = "consumer",
        .protocols = {{.name = "range", .metadata = old.subscription}},
        .id_policy = IdPolicy::ask_again,
    };
    // In its memory, and nowhere else but for the epoch.
    ASSERT_EQ(
        old.run(old.coordinator.join("g", std::move(request)))->error,
        KafkaError::member_id_required
    );
    Node other(world, at_once);
    ASSERT_EQ(other.commit(0, 5), KafkaError::none);
    world.sim.loop.run_for(2min);
    EXPECT_EQ(old.fetch(0), 5);
    ASSERT_EQ(other.commit(0, 6), KafkaError::not_coordinator);
    EXPECT_EQ(*old.run(old.coordinator.remove("g")), KafkaError::none);
}

TEST(Coordinator, is_fenced_by_a_fetch_while_it_writes) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        World world(seed);
        Node old(world, {}, {.request_delay_max = 20ms, .answer_delay_max = 300ms});
        ASSERT_EQ(old.commit(0, 1), KafkaError::none);
        auto first = old.start_commit(0, 2, {});
        auto second = old.start_commit(1, 2, {});
        Node other(world);
        ASSERT_GE(other.fetch(0), 1);
        static_cast<void>(old.fetch(0));  // it may find out
        const KafkaError told = *old.wait(std::move(first));
        old.wait(std::move(second)).value();
        const std::int64_t found = old.fetch(0);
        EXPECT_TRUE(told != KafkaError::none || found == 2) << found;
    }
}

TEST(Coordinator, groups_without_members_leave_memory_for_others) {
    World world;
    Node node(world, {.initial_rebalance_delay = 0s, .memory_max = 64 << 10});
    const std::int32_t generation = node.make_member("m");
    constexpr int count = 200;
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(
            *node.run(node.coordinator.commit(fmt::format("g{}", i), node.request(0, i))),
            KafkaError::none
        );
        ASSERT_LE(world.metrics.memory.value(), 64 << 10);
    }
    EXPECT_GE(world.metrics.evicted.value(), count / 2);
    EXPECT_EQ(world.metrics.refused.value(), 0U);
    for (int i = 0; i < count; ++i) {
        const auto fetched = node.run(node.coordinator.fetch(fmt::format("g{}", i), std::nullopt));
        ASSERT_EQ(fetched->size(), 1U);
        EXPECT_EQ(fetched->front().committed->offset, i);
    }
    EXPECT_EQ(node.heartbeat("m", generation), KafkaError::none) << "one with a member stays";
}

TEST(Coordinator, what_does_not_fit_into_memory_is_refused_and_the_rest_goes_on) {
    World world;
    Node node(world, {.initial_rebalance_delay = 0s, .memory_max = 16 << 10});
    const std::int32_t generation = node.make_member("m");
    const MemberClaim member{.member_id = "m", .generation = generation};
    const Bytes small = std::exchange(node.subscription, Bytes::own(std::string(20 << 10, 's')));
    EXPECT_EQ(node.wait(node.join("n"))->error, KafkaError::coordinator_not_available);
    CommitRequest large = node.request(1, 1, member);
    large.offsets.begin()->second->metadata = std::string(20 << 10, 'o');
    EXPECT_EQ(
        *node.run(node.coordinator.commit("g", std::move(large))),
        KafkaError::coordinator_not_available
    );
    EXPECT_EQ(world.metrics.refused.value(), 2U);
    EXPECT_EQ(node.heartbeat("m", generation), KafkaError::none);
    EXPECT_EQ(node.commit(0, 1, member), KafkaError::none);
    node.subscription = small;
    auto joining = node.join("n");
    world.sim.loop.run_for(1s);
    EXPECT_EQ(node.wait(node.join("m", true))->generation, generation + 1);
    EXPECT_EQ(node.wait(std::move(joining))->error, KafkaError::none);
}

TEST(Coordinator, who_was_only_told_an_id_is_counted_and_leaves_memory_for_others) {
    World world;
    Node node(world, {.initial_rebalance_delay = 0s, .memory_max = 64 << 10});
    const auto invite = [&](const std::string& group, int i) {
        JoinRequest request{
            .fresh_id = fmt::format("{}-{}", std::string(256, 'c'), i),
            .session_timeout = 30min,
            .protocol_type = "consumer",
            .protocols = {{.name = "range", .metadata = node.subscription}},
            .id_policy = IdPolicy::ask_again,
        };
        return node.run(node.coordinator.join(group, std::move(request)))->error;
    };
    ASSERT_EQ(invite("g", 0), KafkaError::member_id_required);
    const std::int64_t one = world.metrics.memory.value();
    ASSERT_EQ(invite("g", 1), KafkaError::member_id_required);
    EXPECT_GE(world.metrics.memory.value(), one + 256);
    for (int i = 2; i < 1000; ++i) {
        invite("g", i);
        ASSERT_LE(world.metrics.memory.value(), 64 << 10);
    }
    for (int i = 0; i < 200; ++i) {
        world.sim.loop.run_for(1s);
        ASSERT_EQ(invite(fmt::format("g{}", i), i), KafkaError::member_id_required) << i;
        ASSERT_LE(world.metrics.memory.value(), 64 << 10);
    }
    EXPECT_GE(world.metrics.evicted.value(), 100U);
}

TEST(Coordinator, partitions_committed_again_are_not_new) {
    World world;
    Node node(world, {.offsets_per_group_max = 6});
    const auto commit = [&](std::int32_t first, std::int32_t end) {
        CommitRequest request;
        for (std::int32_t i = first; i < end; ++i) {
            request.offsets.merge(node.request(i, i).offsets);
        }
        return *node.run(node.coordinator.commit("g", std::move(request)));
    };
    EXPECT_EQ(commit(0, 4), KafkaError::none);
    EXPECT_EQ(commit(0, 4), KafkaError::none);
    EXPECT_EQ(commit(2, 7), KafkaError::invalid_commit_offset_size);
    EXPECT_EQ(commit(0, 6), KafkaError::none);
    EXPECT_EQ(commit(6, 7), KafkaError::invalid_commit_offset_size);
    EXPECT_EQ(commit(0, 6), KafkaError::none);
}

TEST(Coordinator, a_group_that_cannot_be_read_does_not_keep_others_from_expiring) {
    World world;
    Node node(world);
    {
        Node before(world);
        for (const char* group : {"a", "b"}) {
            ASSERT_EQ(
                *before.run(before.coordinator.commit(group, before.request(0, 1))),
                KafkaError::none
            );
        }
    }
    const std::string group = keys::group("a");
    for (const std::string& key : world.keys(group + "/c:")) {
        meta::Put put{.key = key, .value = Bytes::copy("?"), .partition_key = group};
        ASSERT_TRUE(world.sim.run(meta::put(world.direct, std::move(put))).ok());
    }
    world.sim.loop.run_for(8 * 24h);
    node.sweep();
    world.sim.loop.run_for(1s);
    EXPECT_EQ(world.metrics.unreadable.value(), 1U);
    EXPECT_TRUE(world.keys(keys::group("b") + "/c:").empty());
    EXPECT_FALSE(world.keys(group + "/c:").empty());
}

TEST(Coordinator, each_executor_has_room_for_the_largest_group) {
    const GroupOptions options{.group_bytes_max = 4 << 20, .memory_max = 64 << 20};
    EXPECT_EQ(options.part_of(2).memory_max, 32U << 20);
    EXPECT_EQ(options.part_of(64).memory_max, 8U << 20);
}

TEST(Coordinator, who_waits_when_the_node_stops_is_sent_away) {
    World world;
    Node node(world);
    auto joining = node.join("m");  // the initial delay goes on
    world.sim.loop.run_for(1s);
    node.coordinator.drain();
    EXPECT_EQ(node.wait(std::move(joining))->error, KafkaError::not_coordinator);
    EXPECT_TRUE(node.wait(node.join("n")).is(ErrorCode::cancelled));
    EXPECT_EQ(node.commit(0, 1, {}), KafkaError::unknown_member_id);
}

}  // namespace
}  // namespace lakestream::kafka::groups
