// SPDX-License-Identifier: Apache-2.0
// The group's state machine: each rule on its own, then random histories with the invariants.
#include "kafka/groups/group.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/format.h"
#include "codec/writer.h"
#include "rt/rng.h"

namespace lakestream::kafka::groups {
namespace {

Bytes subscription(const std::vector<std::string>& topics) {
    codec::Writer out;
    out.int16(1);
    out.int32(static_cast<std::int32_t>(topics.size()));
    for (const std::string& topic : topics) {
        out.int16(static_cast<std::int16_t>(topic.size()));
        out.raw(topic);
    }
    out.int32(-1);
    return out.finish().join();
}

/// A group, its time, and what it has answered so far.
class World {
  public:
    explicit World(GroupOptions options = {.initial_rebalance_delay = 0s})
        : options_(options), group(options_) {}

    Ticket join(JoinRequest request) {
        const Ticket ticket{++tickets_};
        Effects effects;
        group.join(ticket, std::move(request), now, effects);
        take(std::move(effects));
        return ticket;
    }
    Ticket sync(
        const std::string& member,
        std::int32_t generation,
        std::vector<std::pair<std::string, Bytes>> assignments = {}
    ) {
        const Ticket ticket{++tickets_};
        Effects effects;
        group.sync(
            ticket,
            {.member = {.member_id = member, .generation = generation},
             .assignments = std::move(assignments)},
            now,
            effects
        );
        take(std::move(effects));
        return ticket;
    }
    KafkaError leave(const MemberClaim& claim) {
        Effects effects;
        const KafkaError error = group.leave(claim, now, effects);
        take(std::move(effects));
        return error;
    }
    KafkaError heartbeat(const std::string& member, std::int32_t generation) {
        return group.heartbeat({.member_id = member, .generation = generation}, now);
    }
    KafkaError commit(const std::string& member, std::int32_t generation) {
        return group.check_commit({.member_id = member, .generation = generation}, now);
    }
    /// Time goes by, with a tick whenever one is due.
    void pass(Duration time) {
        const MonoTime end = now.mono + time;
        while (true) {
            const auto next = group.next_deadline();
            if (!next.has_value() || *next > end) {
                break;
            }
            now.mono = std::max(now.mono, *next);
            tick();
        }
        now.mono = end;
        tick();
    }
    void tick() {
        Effects effects;
        group.tick(now, effects);
        take(std::move(effects));
    }
    void stored(KafkaError error = KafkaError::none) {
        ASSERT_TRUE(store.has_value());
        Effects effects;
        const StoreId id = std::exchange(store, std::nullopt)->id;
        group.stored(id, error, now, effects);
        take(std::move(effects));
    }
    /// Members of ids "m0"... in a stable group; gives the generation.
    std::int32_t make_stable(int count) {
        for (int i = 0; i < count; ++i) {
            join(request(fmt::format("m{}", i)));
        }
        pass(0s);
        EXPECT_EQ(group.state(), GroupState::completing);
        const std::int32_t generation = group.generation();
        std::vector<std::pair<std::string, Bytes>> assignments;
        for (int i = 0; i < count; ++i) {
            assignments.emplace_back(fmt::format("m{}", i), Bytes::copy(fmt::format("a{}", i)));
        }
        for (int i = 0; i < count; ++i) {
            sync(fmt::format("m{}", i), generation, assignments);
        }
        stored();
        EXPECT_EQ(group.state(), GroupState::stable);
        return generation;
    }
    static JoinRequest request(const std::string& id) {
        return {
            .fresh_id = id,
            .client_id = "client",
            .client_host = "/host",
            .session_timeout = 10s,
            .rebalance_timeout = 60s,
            .protocol_type = "consumer",
            .protocols = {{.name = "range", .metadata = subscription({"t"})}},
        };
    }
    static JoinRequest rejoin(const std::string& id) {
        JoinRequest again = request(id);
        again.member_id = id;
        return again;
    }
    Moment now{.mono = MonoTime(1h), .wall = wall_from_ms(1'000'000)};
    std::map<Ticket, JoinAnswer> joined;
    std::map<Ticket, SyncAnswer> synced;
    std::optional<Effects::Store> store;

  private:
    void take(Effects effects) {
        for (auto& [ticket, answer] : effects.joined) {
            EXPECT_TRUE(joined.emplace(ticket, std::move(answer)).second) << "answered twice";
        }
        for (auto& [ticket, answer] : effects.synced) {
            EXPECT_TRUE(synced.emplace(ticket, std::move(answer)).second) << "answered twice";
        }
        if (effects.store.has_value()) {
            store = std::move(effects.store);
        }
        EXPECT_EQ(group.broken_invariant(), "");
    }

    GroupOptions options_;
    std::uint64_t tickets_ = 0;

  public:
    Group group;
};

TEST(Group, one_member_joins_syncs_and_leaves) {
    World world;
    const Ticket join = world.join(World::request("a"));
    EXPECT_TRUE(world.joined.empty());
    world.pass(0s);
    const JoinAnswer& answer = world.joined.at(join);
    EXPECT_EQ(answer.error, KafkaError::none);
    EXPECT_EQ(answer.generation, 1);
    EXPECT_EQ(answer.leader, "a");
    EXPECT_EQ(answer.member_id, "a");
    EXPECT_EQ(answer.protocol_name, "range");
    ASSERT_EQ(answer.members.size(), 1U);
    EXPECT_EQ(answer.members[0].metadata, subscription({"t"}));
    const Ticket sync = world.sync("a", 1, {{"a", Bytes::copy("all")}});
    EXPECT_TRUE(world.synced.empty()) << "an assignment is told before it is stored";
    EXPECT_EQ(world.store->record.members.at(0).assignment, Bytes::copy("all"));
    world.stored();
    EXPECT_EQ(world.synced.at(sync).assignment, Bytes::copy("all"));
    EXPECT_EQ(world.group.state(), GroupState::stable);
    EXPECT_EQ(world.group.subscribed(), std::set<std::string>{"t"});
    EXPECT_EQ(world.leave({.member_id = "a"}), KafkaError::none);
    EXPECT_EQ(world.group.state(), GroupState::empty);
    EXPECT_EQ(world.group.generation(), 2);
    EXPECT_EQ(world.store->record.empty_since, world.now.wall);
}

TEST(Group, a_new_member_is_told_its_id_first_when_it_can_understand_that) {
    World world;
    JoinRequest request = World::request("a");
    request.id_policy = IdPolicy::ask_again;
    const JoinAnswer told = world.joined.at(world.join(request));
    EXPECT_EQ(told.error, KafkaError::member_id_required);
    EXPECT_EQ(told.member_id, "a");
    EXPECT_EQ(world.group.state(), GroupState::empty);
    EXPECT_FALSE(world.group.idle());
    request.member_id = "a";
    const Ticket join = world.join(request);
    world.pass(0s);
    EXPECT_EQ(world.joined.at(join).error, KafkaError::none);
    // One that does not come back is forgotten after its session time-out.
    request = World::request("b");
    request.id_policy = IdPolicy::ask_again;
    world.join(request);
    world.pass(9s);
    static_cast<void>(world.heartbeat("a", 1));
    world.pass(2s);
    request.member_id = "b";
    EXPECT_EQ(world.joined.at(world.join(request)).error, KafkaError::unknown_member_id);
}

TEST(Group, a_second_member_makes_the_first_rejoin_and_never_forget_itself) {
    World world;
    world.make_stable(1);
    const Ticket second = world.join(World::request("x"));
    EXPECT_EQ(world.heartbeat("m0", 1), KafkaError::rebalance_in_progress);
    EXPECT_EQ(world.group.generation(), 1) << "raised before the round was complete";
    EXPECT_FALSE(world.joined.contains(second));
    const Ticket first = world.join(World::rejoin("m0"));
    EXPECT_EQ(world.joined.at(second).generation, 2);
    EXPECT_EQ(world.joined.at(first).generation, 2);
    EXPECT_EQ(world.joined.at(first).leader, "m0");
    EXPECT_EQ(world.joined.at(first).members.size(), 2U);
    EXPECT_TRUE(world.joined.at(second).members.empty());
    // Who is not the leader assigns nothing.
    world.sync("x", 2, {{"x", Bytes::copy("stolen")}});
    EXPECT_FALSE(world.store.has_value());
    world.sync("m0", 2, {{"m0", Bytes::copy("0")}, {"x", Bytes::copy("1")}});
    world.stored();
    EXPECT_EQ(world.group.describe().members.at(1).assignment, Bytes::copy("1"));
}

TEST(Group, the_first_rebalance_waits_for_others_and_longer_while_they_come) {
    World world({.initial_rebalance_delay = 3s});
    const Ticket first = world.join(World::request("a"));
    world.pass(2s);
    world.join(World::request("b"));
    world.pass(2s);
    EXPECT_FALSE(world.joined.contains(first)) << "b came during the delay: one more";
    world.pass(2s);
    EXPECT_EQ(world.joined.at(first).members.size(), 2U);
}

TEST(Group, newcomers_do_not_delay_the_first_rebalance_beyond_its_time_out) {
    World world({.initial_rebalance_delay = 3s});
    const Ticket first = world.join(World::request("m0"));
    for (int i = 1; i <= 40; ++i) {
        world.join(World::request(fmt::format("m{}", i)));
        world.pass(2s);
        if (world.joined.contains(first)) {
            EXPECT_GE(i, 25);
            EXPECT_LE(i, 31);
            return;
        }
    }
    FAIL() << "never completed";
}

TEST(Group, who_does_not_rejoin_in_time_is_out_and_its_commits_are_refused) {
    World world;
    const std::int32_t generation = world.make_stable(2);
    EXPECT_EQ(world.commit("m1", generation), KafkaError::none);
    world.join(World::rejoin("m0"));  // the leader wants to assign anew
    for (int i = 0; i < 7; ++i) {
        world.pass(9s);
        static_cast<void>(world.heartbeat("m1", generation));  // alive, but deaf
    }
    EXPECT_EQ(world.group.state(), GroupState::completing);
    EXPECT_EQ(world.group.members(), 1U);
    EXPECT_EQ(world.commit("m1", generation), KafkaError::unknown_member_id);
    EXPECT_EQ(world.commit("m0", generation), KafkaError::illegal_generation);
    EXPECT_EQ(world.commit("m0", generation + 1), KafkaError::rebalance_in_progress);
}

TEST(Group, a_paused_member_is_removed_and_a_zombie_when_it_wakes_up) {
    World world;
    const std::int32_t generation = world.make_stable(2);
    for (int i = 0; i < 3; ++i) {
        world.pass(5s);
        static_cast<void>(world.heartbeat("m0", generation));
    }
    EXPECT_EQ(world.group.members(), 1U);
    EXPECT_EQ(world.group.state(), GroupState::preparing);
    EXPECT_EQ(world.commit("m1", generation), KafkaError::unknown_member_id);
    EXPECT_EQ(world.heartbeat("m1", generation), KafkaError::unknown_member_id);
    EXPECT_EQ(world.heartbeat("m0", generation), KafkaError::rebalance_in_progress);
}

TEST(Group, heartbeats_and_commits_keep_a_member_alive) {
    World world;
    const std::int32_t generation = world.make_stable(1);
    for (int i = 0; i < 10; ++i) {
        world.pass(9s);
        ASSERT_EQ(
            i % 2 == 0 ? world.heartbeat("m0", generation) : world.commit("m0", generation),
            KafkaError::none
        );
    }
    world.pass(11s);
    EXPECT_EQ(world.group.state(), GroupState::empty);
}

TEST(Group, a_member_that_never_syncs_is_removed_after_the_rebalance_time_out) {
    World world;
    world.join(World::request("a"));
    world.join(World::request("b"));
    world.pass(0s);
    for (int i = 0; i < 7; ++i) {
        static_cast<void>(world.heartbeat("b", 1));
        world.sync("a", 1);
        if (world.store.has_value()) {
            world.stored();
        }
        world.pass(9s);
    }
    EXPECT_EQ(world.group.state(), GroupState::preparing);
    EXPECT_EQ(world.group.members(), 1U);
    EXPECT_EQ(world.commit("b", 1), KafkaError::unknown_member_id);
}

TEST(Group, a_silent_member_does_not_hold_up_a_new_one) {
    World world({.initial_rebalance_delay = 0s});
    const std::int32_t generation = world.make_stable(1);
    JoinRequest request = World::request("b");
    request.rebalance_timeout = 1s;
    const Ticket second = world.join(request);
    world.pass(8s);
    EXPECT_EQ(world.heartbeat("m0", generation), KafkaError::rebalance_in_progress);
    world.pass(61s);
    EXPECT_EQ(world.joined.at(second).error, KafkaError::none);
    EXPECT_EQ(world.joined.at(second).members.size(), 1U);
}

TEST(Group, an_assignment_that_cannot_be_stored_is_told_to_nobody) {
    World world;
    const Ticket join = world.join(World::request("a"));
    world.pass(0s);
    EXPECT_EQ(world.joined.at(join).generation, 1);
    const Ticket sync = world.sync("a", 1, {{"a", Bytes::copy("all")}});
    world.stored(KafkaError::coordinator_not_available);
    EXPECT_EQ(world.synced.at(sync).error, KafkaError::coordinator_not_available);
    EXPECT_EQ(world.group.state(), GroupState::preparing);
    const Ticket again = world.join(World::rejoin("a"));
    EXPECT_EQ(world.joined.at(again).generation, 2);
    EXPECT_TRUE(world.group.describe().members.at(0).assignment.empty());
}

TEST(Group, a_rebalance_during_the_store_wins) {
    World world;
    world.join(World::request("a"));
    world.pass(0s);
    const Ticket sync = world.sync("a", 1, {{"a", Bytes::copy("all")}});
    world.join(World::request("b"));
    EXPECT_EQ(world.synced.at(sync).error, KafkaError::rebalance_in_progress);
    world.stored();
    EXPECT_EQ(world.group.state(), GroupState::preparing);
}

TEST(Group, a_static_member_takes_its_place_again_without_a_rebalance) {
    for (const SkipAssignment skip : {SkipAssignment::unsupported, SkipAssignment::supported}) {
        World world;
        JoinRequest request = World::request("old");
        request.instance_id = "instance";
        world.join(request);
        world.pass(0s);
        world.sync("old", 1);  // without an instance: a client may leave it out
        world.stored();
        request.fresh_id = "new";
        request.client_id = "restarted";
        request.skip_assignment = skip;
        const Ticket join = world.join(request);
        EXPECT_FALSE(world.joined.contains(join)) << "must be stored first";
        world.stored();
        const JoinAnswer& answer = world.joined.at(join);
        EXPECT_EQ(answer.error, KafkaError::none);
        EXPECT_EQ(answer.generation, 1);
        EXPECT_EQ(answer.member_id, "new");
        const bool can_skip = skip == SkipAssignment::supported;
        EXPECT_EQ(answer.skip_assignment, can_skip);
        EXPECT_EQ(answer.leader, can_skip ? "new" : "old");
        EXPECT_EQ(answer.members.empty(), !can_skip);
        const MemberClaim zombie{.member_id = "old", .instance_id = "instance", .generation = 1};
        EXPECT_EQ(world.group.check_commit(zombie, world.now), KafkaError::fenced_instance_id);
        EXPECT_EQ(world.group.heartbeat(zombie, world.now), KafkaError::fenced_instance_id);
        EXPECT_EQ(world.leave({.instance_id = "other"}), KafkaError::unknown_member_id);
        EXPECT_EQ(world.leave({.instance_id = "instance"}), KafkaError::none);
        EXPECT_EQ(world.group.state(), GroupState::empty);
    }
}

TEST(Group, a_static_member_with_another_subscription_causes_a_rebalance) {
    World world;
    JoinRequest request = World::request("old");
    request.instance_id = "instance";
    world.join(request);
    world.pass(0s);
    world.sync("old", 1);
    world.stored();
    request.fresh_id = "new";
    request.protocols[0].metadata = subscription({"t", "u"});
    const Ticket join = world.join(request);
    EXPECT_EQ(world.joined.at(join).generation, 2);
    EXPECT_EQ(world.group.subscribed(), (std::set<std::string>{"t", "u"}));
}

TEST(Group, the_protocol_most_members_prefer_and_all_can_do_is_chosen) {
    World world;
    const auto with = [](const std::string& id, const std::vector<std::string>& names) {
        JoinRequest request = World::request(id);
        request.protocols.clear();
        for (const std::string& name : names) {
            request.protocols.push_back({.name = name, .metadata = {}});
        }
        return request;
    };
    world.join(with("a", {"x", "range", "roundrobin"}));
    world.join(with("b", {"roundrobin", "range"}));
    const Ticket last = world.join(with("c", {"roundrobin", "range"}));
    world.pass(0s);
    EXPECT_EQ(world.joined.at(last).protocol_name, "roundrobin");
    const Ticket stranger = world.join(with("d", {"x"}));
    EXPECT_EQ(world.joined.at(stranger).error, KafkaError::inconsistent_group_protocol);
    JoinRequest other = with("e", {"range"});
    other.protocol_type = "connect";
    const Ticket other_type = world.join(other);
    EXPECT_EQ(world.joined.at(other_type).error, KafkaError::inconsistent_group_protocol);
}

TEST(Group, limits) {
    World world({.initial_rebalance_delay = 0s, .members_max = 2, .group_bytes_max = 1000});
    JoinRequest request = World::request("a");
    request.session_timeout = 5s;
    EXPECT_EQ(world.joined.at(world.join(request)).error, KafkaError::invalid_session_timeout);
    request.session_timeout = 31min;
    EXPECT_EQ(world.joined.at(world.join(request)).error, KafkaError::invalid_session_timeout);
    request = World::request("a");
    request.protocols[0].metadata = Bytes::copy(std::string(2000, 'x'));
    EXPECT_EQ(world.joined.at(world.join(request)).error, KafkaError::group_max_size_reached);
    world.join(World::request("a"));
    world.join(World::request("b"));
    const Ticket third = world.join(World::request("c"));
    EXPECT_EQ(world.joined.at(third).error, KafkaError::group_max_size_reached);
    world.pass(0s);
    const Ticket sync = world.sync("a", 1, {{"a", Bytes::copy(std::string(2000, 'x'))}});
    EXPECT_EQ(world.synced.at(sync).error, KafkaError::unknown_server_error);
}

TEST(Group, all_that_clients_say_is_counted) {
    World world;
    const auto grows = [&](auto&& change) {
        JoinRequest larger = World::request("a");
        change(larger);
        return world.group.growth(larger) - world.group.growth(World::request("a"));
    };
    const std::string text(100, 'x');
    EXPECT_GE(grows([&](auto& request) { request.fresh_id += text; }), 100U);
    EXPECT_GE(grows([&](auto& request) { request.instance_id = text; }), 100U);
    EXPECT_GE(grows([&](auto& request) { request.client_id += text; }), 100U);
    EXPECT_GE(grows([&](auto& request) { request.protocol_type += text; }), 100U);
    EXPECT_GE(grows([&](auto& request) { request.protocols.resize(11); }), 10 * sizeof(Protocol));
    const std::size_t growth = world.group.growth(World::request("a"));
    world.join(World::request("a"));
    EXPECT_EQ(world.group.bytes(), growth);
    EXPECT_EQ(world.group.growth(World::rejoin("a")), 0U) << "who comes again is always taken";
    const Ticket many = world.join([] {
        JoinRequest request = World::request("b");
        request.protocols.resize(protocols_max + 1);
        return request;
    }());
    EXPECT_EQ(world.joined.at(many).error, KafkaError::inconsistent_group_protocol);
}

TEST(Group, an_invitation_is_counted_and_ends_after_a_minute) {
    World world;
    JoinRequest request = World::request("a");
    request.session_timeout = 30min;
    request.id_policy = IdPolicy::ask_again;
    world.join(request);
    EXPECT_GE(world.group.bytes(), request.fresh_id.size());
    EXPECT_GT(world.group.bytes(), 0U);
    world.pass(59s);
    EXPECT_FALSE(world.group.idle());
    world.pass(1s);
    EXPECT_TRUE(world.group.idle());
    EXPECT_EQ(world.group.bytes(), 0U);
}

TEST(Group, static_members_without_patience_are_not_waited_for_in_a_loop) {
    World world;
    const auto join = [&](const std::string& instance, const std::string& id, Duration patience) {
        JoinRequest request = World::request(id);
        request.instance_id = instance;
        request.session_timeout = 30min;
        request.rebalance_timeout = patience;
        world.join(request);
    };
    join("i", "a", 60s);
    join("j", "b", 60s);
    world.pass(0s);
    world.sync("a", 1);
    world.sync("b", 1);
    world.stored();
    join("i", "c", 0s);
    join("j", "d", 0s);
    EXPECT_EQ(world.group.state(), GroupState::stable);
    EXPECT_EQ(world.leave({.instance_id = "j"}), KafkaError::none);
    world.tick();
    EXPECT_EQ(world.group.state(), GroupState::preparing);
    EXPECT_GE(*world.group.next_deadline(), world.now.mono + 1s);
}

TEST(Group, claims_of_strangers) {
    World world;
    EXPECT_EQ(world.commit("", -1), KafkaError::none) << "anybody may keep offsets";
    EXPECT_EQ(world.commit("a", 1), KafkaError::unknown_member_id);
    const std::int32_t generation = world.make_stable(1);
    EXPECT_EQ(world.commit("", -1), KafkaError::unknown_member_id) << "members only, now";
    EXPECT_EQ(world.commit("m0", generation - 1), KafkaError::illegal_generation);
    EXPECT_EQ(world.heartbeat("m0", generation + 1), KafkaError::illegal_generation);
    EXPECT_EQ(world.heartbeat("x", generation), KafkaError::unknown_member_id);
    EXPECT_EQ(world.leave({.member_id = "x"}), KafkaError::unknown_member_id);
    EXPECT_EQ(world.synced.at(world.sync("x", 1)).error, KafkaError::unknown_member_id);
    EXPECT_EQ(world.synced.at(world.sync("m0", 7)).error, KafkaError::illegal_generation);
}

TEST(Group, is_what_it_was_after_it_was_stored_and_loaded) {
    World world;
    const std::int32_t generation = world.make_stable(3);
    const GroupOptions options{.initial_rebalance_delay = 0s};
    const GroupRecord record = world.group.record();
    Group loaded(options, record, world.now);
    EXPECT_EQ(loaded.record(), record);
    EXPECT_EQ(loaded.state(), GroupState::stable);
    EXPECT_EQ(loaded.broken_invariant(), "");
    EXPECT_EQ(
        loaded.check_commit({.member_id = "m1", .generation = generation}, world.now),
        KafkaError::none
    );
    EXPECT_EQ(
        loaded.check_commit({.member_id = "m1", .generation = generation - 1}, world.now),
        KafkaError::illegal_generation
    );
    EXPECT_EQ(*loaded.next_deadline(), world.now.mono + 10s) << "time to show up again";
}

/// Clients that follow the protocol, more or less: any event, in any order, at any time.
class Crowd {
  public:
    explicit Crowd(std::uint64_t seed)
        : rng_(seed), world_({.initial_rebalance_delay = rng_.chance(1, 2) ? 0s : 3s}) {}

    void step() {
        const std::string id = fmt::format("m{}", rng_.below(6));
        switch (rng_.below(10)) {
            case 0:
            case 1: join(id); break;
            case 2: world_.pass(std::chrono::milliseconds(rng_.below(4000))); break;
            case 3: leave(id); break;
            case 4:
                if (world_.store.has_value()) {
                    world_.stored(
                        rng_.chance(1, 5) ? KafkaError::coordinator_not_available : KafkaError::none
                    );
                }
                break;
            case 5: static_cast<void>(world_.heartbeat(id, world_.group.generation())); break;
            default: sync(id); break;
        }
        if (world_.group.generation() > 0 && world_.commit("zombie", 1) == KafkaError::none) {
            ADD_FAILURE() << "a stranger may commit";
        }
        EXPECT_GE(world_.group.generation(), generation_);
        generation_ = world_.group.generation();
    }

    /// Everybody falls silent: all is answered, and the group is empty in the end.
    void end() {
        for (int i = 0; i < 30; ++i) {
            if (world_.store.has_value()) {
                world_.stored();
            }
            world_.pass(60s);
        }
        EXPECT_EQ(world_.group.state(), GroupState::empty);
        for (const Ticket ticket : asked_) {
            EXPECT_TRUE(world_.joined.contains(ticket) || world_.synced.contains(ticket));
        }
    }

  private:
    void join(const std::string& id) {
        JoinRequest request = World::request(id);
        const bool is_static = id == "m0" || id == "m1";
        if (is_static) {
            request.instance_id = "i" + id;
        }
        request.fresh_id = fmt::format("{}-{}", id, ++fresh_);
        if (rng_.chance(2, 3)) {
            request.member_id = current(id);  // empty at first
        }
        if (request.member_id.empty()) {
            ids_[id] = request.fresh_id;
            request.id_policy = rng_.chance(1, 2) ? IdPolicy::ask_again : IdPolicy::join_at_once;
        }
        if (rng_.chance(1, 4)) {
            request.protocols.push_back({.name = "roundrobin", .metadata = {}});
        }
        asked_.push_back(world_.join(std::move(request)));
    }
    void leave(const std::string& id) { world_.leave({.member_id = current(id)}); }
    void sync(const std::string& id) {
        asked_.push_back(world_.sync(
            current(id), world_.group.generation(), {{current(id), Bytes::copy("part")}}
        ));
    }
    /// A static member's id may not be the one it has been given last: others take its place.
    std::string current(const std::string& id) const {
        const auto found = ids_.find(id);
        return found != ids_.end() ? found->second : std::string();
    }

    rt::Rng rng_;
    World world_;
    std::int32_t generation_ = 0;
    int fresh_ = 0;
    std::map<std::string, std::string> ids_;
    std::vector<Ticket> asked_;
};

TEST(Group, holds_its_invariants_through_random_histories) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE(seed);
        Crowd crowd(seed);
        for (int i = 0; i < 300 && !::testing::Test::HasFailure(); ++i) {
            crowd.step();
        }
        crowd.end();
        ASSERT_FALSE(::testing::Test::HasFailure());
    }
}

}  // namespace
}  // namespace lakestream::kafka::groups
