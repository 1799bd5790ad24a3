// SPDX-License-Identifier: Apache-2.0
// Group requests through real frames, in every version.
#include <gtest/gtest.h>

#include <limits>

#include "codec/kafka/gen/delete_groups.h"
#include "codec/kafka/gen/delete_topics.h"
#include "codec/kafka/gen/describe_groups.h"
#include "codec/kafka/gen/find_coordinator.h"
#include "codec/kafka/gen/heartbeat.h"
#include "codec/kafka/gen/join_group.h"
#include "codec/kafka/gen/leave_group.h"
#include "codec/kafka/gen/list_groups.h"
#include "codec/kafka/gen/offset_commit.h"
#include "codec/kafka/gen/offset_delete.h"
#include "codec/kafka/gen/offset_fetch.h"
#include "codec/kafka/gen/sync_group.h"
#include "kafka/groups/keys.h"
#include "kafka/testing/broker.h"
#include "kafka/topics.h"

namespace lakestream::kafka {
namespace {

using namespace codec::kafka;  // NOLINT(google-build-using-namespace): a dozen messages
using kafka::KafkaError;
using testing::TestBroker;
using testing::TestClient;

ServerOptions at_once() {
    ServerOptions options;
    options.groups.initial_rebalance_delay = 0s;
    options.connection.idle_max = 24h;
    return options;
}

struct Member {
    std::string id;
    std::int32_t generation = -1;
};

class GroupHandlers : public ::testing::Test {
  protected:
    JoinGroupRequest join_request(const std::string& id) {
        return {
            .group_id = "g",
            .session_timeout_ms = 10'000,
            .member_id = id,
            .protocol_type = "consumer",
            .protocols = {{.name = "range", .metadata = Bytes::copy("subscription")}},
        };
    }
    /// Alone in the group, with its part.
    Member make_member(int join_version = 9, int sync_version = 5) {
        auto joined = client_.call<JoinGroupResponse>(join_request(""), join_version);
        if (joined.error_code == KafkaError::member_id_required) {
            joined = client_.call<JoinGroupResponse>(join_request(joined.member_id), join_version);
        }
        EXPECT_EQ(joined.error_code, KafkaError::none);
        EXPECT_EQ(joined.leader, joined.member_id);
        EXPECT_EQ(joined.members.size(), 1U);
        SyncGroupRequest sync{
            .group_id = "g",
            .generation_id = joined.generation_id,
            .member_id = joined.member_id,
            .assignments = {{.member_id = joined.member_id, .assignment = Bytes::copy("assignment")}
            },
        };
        if (sync_version >= 5) {
            sync.protocol_type = "consumer";
            sync.protocol_name = "range";
        }
        const auto synced = client_.call<SyncGroupResponse>(sync, sync_version);
        EXPECT_EQ(synced.error_code, KafkaError::none);
        EXPECT_EQ(synced.assignment, Bytes::copy("assignment"));
        if (sync_version >= 5) {
            EXPECT_EQ(synced.protocol_type, "consumer");
            EXPECT_EQ(synced.protocol_name, "range");
        }
        return {joined.member_id, joined.generation_id};
    }
    KafkaError leave(const Member& member, int version = 5) {
        LeaveGroupRequest request{.group_id = "g"};
        if (version < 3) {
            request.member_id = member.id;
        } else {
            request.members.push_back({.member_id = member.id});
        }
        const auto left = client_.call<LeaveGroupResponse>(request, version);
        return version < 3 || left.members.empty() ? left.error_code
                                                   : left.members.at(0).error_code;
    }
    OffsetCommitRequest commit_request(std::int64_t offset, int version, const Member& member) {
        OffsetCommitRequest request{
            .group_id = "g",
            .generation_id_or_member_epoch = member.generation,
            .member_id = member.id,
        };
        auto& topic = request.topics.emplace_back();
        topic.name = version < 10 ? "events" : "";
        topic.topic_id = version < 10 ? Uuid() : topic_id(*stream_);
        topic.partitions.push_back({
            .partition_index = 1,
            .committed_offset = offset,
            .committed_leader_epoch = version >= 6 ? 7 : -1,
            .committed_metadata = "note",
        });
        return request;
    }
    KafkaError commit(std::int64_t offset, int version = 9, const Member& member = {}) {
        return client_.call<OffsetCommitResponse>(commit_request(offset, version, member), version)
            .topics.at(0)
            .partitions.at(0)
            .error_code;
    }
    OffsetFetchRequest fetch_request(int version) {
        OffsetFetchRequest request;
        if (version < 8) {
            request.group_id = "g";
            request.topics = {{{.name = "events", .partition_indexes = {0, 1}}}};
        } else {
            auto& group = request.groups.emplace_back();
            group.group_id = "g";
            auto& topic = group.topics.emplace().emplace_back();
            topic.name = version < 10 ? "events" : "";
            topic.topic_id = version < 10 ? Uuid() : topic_id(*stream_);
            topic.partition_indexes = {0, 1};
        }
        return request;
    }
    /// Of partition 1; partition 0 has none.
    std::int64_t fetch(int version = 9) {
        const auto response = client_.call<OffsetFetchResponse>(fetch_request(version), version);
        const auto check = [&](const auto& partitions) {
            EXPECT_EQ(partitions.at(0).committed_offset, -1);
            EXPECT_EQ(partitions.at(0).error_code, KafkaError::none);
            const bool found = partitions.at(1).committed_offset >= 0;
            EXPECT_EQ(partitions.at(1).metadata, found ? "note" : "");
            return partitions.at(1).committed_offset;
        };
        if (version < 8) {
            EXPECT_EQ(response.error_code, KafkaError::none);
            return check(response.topics.at(0).partitions);
        }
        EXPECT_EQ(response.groups.at(0).error_code, KafkaError::none);
        return check(response.groups.at(0).topics.at(0).partitions);
    }
    std::string state() {
        return client_.call<DescribeGroupsResponse>(DescribeGroupsRequest{.groups = {"g"}}, 5)
            .groups.at(0)
            .group_state;
    }

    TestBroker broker_{at_once()};
    catalog::StreamPtr stream_ = broker_.catalog.add("events", 3);
    TestClient client_ = broker_.connect();
};

TEST_F(GroupHandlers, coordinators_are_found_in_every_version) {
    for (int version = 0; version <= 6; ++version) {
        FindCoordinatorRequest request;
        if (version < 4) {
            request.key = "g";
        } else {
            request.coordinator_keys = {"g", "h"};
        }
        const auto response = client_.call<FindCoordinatorResponse>(request, version);
        if (version < 4) {
            EXPECT_EQ(response.error_code, KafkaError::none);
            EXPECT_EQ(response.node_id, 3);
            EXPECT_EQ(response.host, "broker");
            EXPECT_EQ(response.port, 9092);
        } else {
            ASSERT_EQ(response.coordinators.size(), 2U);
            EXPECT_EQ(response.coordinators[1].key, "h");
            EXPECT_EQ(response.coordinators[1].node_id, 3);
            EXPECT_EQ(response.coordinators[1].port, 9092);
        }
    }
    FindCoordinatorRequest request{.key_type = 1, .coordinator_keys = {"txn"}};
    const auto refused = client_.call<FindCoordinatorResponse>(request, 4);
    EXPECT_EQ(refused.coordinators.at(0).error_code, KafkaError::invalid_request);
}

TEST_F(GroupHandlers, a_member_lives_and_leaves_in_every_version) {
    for (int version = 0; version <= 9; ++version) {
        SCOPED_TRACE(version);
        const Member member = make_member(version, std::min(version, 5));
        EXPECT_EQ(state(), "Stable");
        const HeartbeatRequest beat{
            .group_id = "g",
            .generation_id = member.generation,
            .member_id = member.id,
        };
        EXPECT_EQ(
            client_.call<HeartbeatResponse>(beat, std::min(version, 4)).error_code, KafkaError::none
        );
        EXPECT_EQ(leave(member, std::min(version, 5)), KafkaError::none);
        EXPECT_EQ(
            client_.call<HeartbeatResponse>(beat, std::min(version, 4)).error_code,
            KafkaError::unknown_member_id
        );
        EXPECT_EQ(leave(member, std::min(version, 5)), KafkaError::unknown_member_id);
        EXPECT_EQ(state(), "Empty");
    }
}

TEST_F(GroupHandlers, offsets_are_committed_and_fetched_in_every_version) {
    std::int64_t offset = 0;
    for (int version = 2; version <= 10; ++version) {
        SCOPED_TRACE(version);
        EXPECT_EQ(commit(++offset, version), KafkaError::none);
        for (int read = 1; read <= 10; ++read) {
            EXPECT_EQ(fetch(read), offset) << read;
        }
    }
    const Member member = make_member();
    EXPECT_EQ(commit(77), KafkaError::unknown_member_id);
    EXPECT_EQ(commit(77, 9, {member.id, member.generation - 1}), KafkaError::illegal_generation);
    EXPECT_EQ(commit(77, 9, member), KafkaError::none);
    EXPECT_EQ(fetch(), 77);
}

TEST_F(GroupHandlers, all_offsets_of_several_groups) {
    EXPECT_EQ(commit(5), KafkaError::none);
    OffsetFetchRequest request;
    for (const char* group : {"g", "unknown"}) {
        request.groups.push_back({.group_id = group, .topics = std::nullopt});
    }
    for (const int version : {8, 9, 10}) {
        const auto response = client_.call<OffsetFetchResponse>(request, version);
        ASSERT_EQ(response.groups.size(), 2U);
        const auto& topic = response.groups[0].topics.at(0);
        EXPECT_EQ(topic.name, version < 10 ? "events" : "");
        EXPECT_EQ(topic.topic_id, version < 10 ? Uuid() : topic_id(*stream_));
        ASSERT_EQ(topic.partitions.size(), 1U);
        EXPECT_EQ(topic.partitions[0].committed_offset, 5);
        EXPECT_EQ(response.groups[1].error_code, KafkaError::none);
        EXPECT_TRUE(response.groups[1].topics.empty());
    }
    const OffsetFetchRequest old{.group_id = "g", .topics = std::nullopt};
    EXPECT_EQ(client_.call<OffsetFetchResponse>(old, 2).topics.size(), 1U);
}

TEST_F(GroupHandlers, commits_that_cannot_be_are_refused_by_partition) {
    OffsetCommitRequest request = commit_request(1, 9, {});
    request.topics[0].partitions.push_back({.partition_index = 3, .committed_offset = 1});
    request.topics[0].partitions.push_back({
        .partition_index = 2,
        .committed_offset = 1,
        .committed_metadata = std::string(4097, 'x'),
    });
    request.topics.push_back(
        {.name = "other", .partitions = {{.partition_index = 0, .committed_offset = 1}}}
    );
    const auto response = client_.call<OffsetCommitResponse>(request, 9);
    const auto& partitions = response.topics.at(0).partitions;
    EXPECT_EQ(partitions.at(0).error_code, KafkaError::none);
    EXPECT_EQ(partitions.at(1).error_code, KafkaError::unknown_topic_or_partition);
    EXPECT_EQ(partitions.at(2).error_code, KafkaError::offset_metadata_too_large);
    EXPECT_EQ(
        response.topics.at(1).partitions.at(0).error_code, KafkaError::unknown_topic_or_partition
    );
    EXPECT_EQ(fetch(), 1);
    request = commit_request(1, 10, {});
    request.topics[0].topic_id.bytes[0] = std::byte{1};
    EXPECT_EQ(
        client_.call<OffsetCommitResponse>(request, 10).topics[0].partitions[0].error_code,
        KafkaError::unknown_topic_id
    );
}

TEST_F(GroupHandlers, offsets_are_kept_for_as_long_as_a_client_says_also_for_ever) {
    constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t shortest = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t retention : {shortest, std::int64_t{-2}, std::int64_t{-1}, longest}) {
        SCOPED_TRACE(retention);
        OffsetCommitRequest request = commit_request(5, 2, {});
        request.retention_time_ms = retention;
        const auto response = client_.call<OffsetCommitResponse>(request, 2);
        EXPECT_EQ(response.topics.at(0).partitions.at(0).error_code, KafkaError::none);
    }
    broker_.sim.loop.run_for(2h);  // beyond a node's first hour, in which nothing expires
    EXPECT_EQ(fetch(), 5);
    OffsetCommitRequest request = commit_request(6, 2, {});
    request.retention_time_ms = 1000;
    EXPECT_EQ(
        client_.call<OffsetCommitResponse>(request, 2).topics.at(0).partitions.at(0).error_code,
        KafkaError::none
    );
    broker_.sim.loop.run_for(30min);
    EXPECT_EQ(fetch(), -1);
}

TEST_F(GroupHandlers, what_is_asked_for_twice_in_one_request_is_answered_once) {
    EXPECT_EQ(commit(5), KafkaError::none);
    OffsetFetchRequest twice = fetch_request(9);
    twice.groups.push_back(twice.groups[0]);
    auto fetched = client_.call<OffsetFetchResponse>(twice, 9);
    EXPECT_EQ(fetched.groups.at(0).error_code, KafkaError::none);
    EXPECT_EQ(fetched.groups.at(1).error_code, KafkaError::invalid_request);
    OffsetFetchRequest partitions = fetch_request(9);
    partitions.groups[0].topics->at(0).partition_indexes = {1, 1};
    fetched = client_.call<OffsetFetchResponse>(partitions, 9);
    EXPECT_EQ(fetched.groups.at(0).error_code, KafkaError::invalid_request);
    const auto described =
        client_.call<DescribeGroupsResponse>(DescribeGroupsRequest{.groups = {"g", "g"}}, 5);
    EXPECT_EQ(described.groups.at(0).error_code, KafkaError::none);
    EXPECT_EQ(described.groups.at(1).error_code, KafkaError::invalid_request);
}

TEST(GroupLimits, a_response_stays_within_its_bytes_and_the_rest_is_asked_for_again) {
    ServerOptions options = at_once();
    options.broker.described_bytes_max = 2000;
    TestBroker broker(options);
    broker.catalog.add("events", 1);
    TestClient client = broker.connect();
    DescribeGroupsRequest describe;
    OffsetFetchRequest fetch;
    for (int i = 0; i < 20; ++i) {
        OffsetCommitRequest commit{.group_id = fmt::format("g{}", i)};
        commit.topics = {
            {.name = "events",
             .partitions = {{.committed_offset = i, .committed_metadata = std::string(1000, 'm')}}}
        };
        EXPECT_EQ(
            client.call<OffsetCommitResponse>(commit, 9).topics.at(0).partitions.at(0).error_code,
            KafkaError::none
        );
        describe.groups.push_back(fmt::format("{:0>300}", i));
        fetch.groups.push_back({.group_id = commit.group_id, .topics = std::nullopt});
    }
    /// How many were answered: the first ones.
    const auto answered = [](const auto& groups) {
        EXPECT_EQ(groups.size(), 20U);
        std::size_t count = 0;
        while (count < groups.size() && groups[count].error_code == KafkaError::none) {
            ++count;
        }
        for (std::size_t i = count; i < groups.size(); ++i) {
            EXPECT_EQ(groups[i].error_code, KafkaError::coordinator_load_in_progress) << i;
        }
        return count;
    };
    const auto described = client.call<DescribeGroupsResponse>(describe, 5).groups;
    EXPECT_GE(answered(described), 2U);
    EXPECT_LE(answered(described), 8U);
    EXPECT_TRUE(
        client.call<DescribeGroupsResponse>(describe, 6).groups[19].error_message.has_value()
    );
    const auto fetched = client.call<OffsetFetchResponse>(fetch, 9);
    EXPECT_EQ(answered(fetched.groups), 4U) << "asked at the same time";
    EXPECT_EQ(fetched.groups[3].topics.at(0).partitions.at(0).committed_offset, 3);
    EXPECT_EQ(fetched.groups[19].group_id, "g19");
    fetch.groups.erase(fetch.groups.begin(), fetch.groups.begin() + 4);
    EXPECT_EQ(client.call<OffsetFetchResponse>(fetch, 9).groups[0].error_code, KafkaError::none);
    EXPECT_EQ(client.call<ListGroupsResponse>(ListGroupsRequest{}, 5).groups.size(), 20U);
}

TEST_F(GroupHandlers, a_long_client_id_is_cut_in_member_ids_between_characters) {
    JoinGroupRequest request = join_request("");
    std::string name(255, 'n');
    for (int i = 0; i < 100; ++i) {
        name += "\u00e9";
    }
    request.group_instance_id = name;
    const auto joined = client_.call<JoinGroupResponse>(request, 9);
    EXPECT_EQ(joined.error_code, KafkaError::none);
    EXPECT_EQ(joined.member_id.substr(0, 256), std::string(255, 'n') + "-");
    EXPECT_EQ(joined.member_id.size(), 255U + 1 + 36);
}

TEST_F(GroupHandlers, a_group_that_cannot_be_read_is_not_listed_and_the_others_are) {
    EXPECT_EQ(commit(5), KafkaError::none);
    const std::string key = groups::keys::group("broken");
    meta::Put put{.key = key, .value = Bytes::copy("?"), .partition_key = key};
    ASSERT_TRUE(broker_.sim.run(meta::put(broker_.metadata, std::move(put))).ok());
    const auto listed = client_.call<ListGroupsResponse>(ListGroupsRequest{}, 5);
    EXPECT_EQ(listed.error_code, KafkaError::none);
    ASSERT_EQ(listed.groups.size(), 1U);
    EXPECT_EQ(listed.groups[0].group_id, "g");
    EXPECT_EQ(broker_.metrics.groups.unreadable.value(), 1U);
}

TEST_F(GroupHandlers, offsets_of_a_deleted_topic_are_gone_also_when_it_is_made_again) {
    EXPECT_EQ(commit(5), KafkaError::none);
    const DeleteTopicsRequest request{.topics = {{.name = "events"}}};
    EXPECT_EQ(
        client_.call<DeleteTopicsResponse>(request, 6).responses.at(0).error_code, KafkaError::none
    );
    stream_ = broker_.catalog.add("events", 3);
    EXPECT_EQ(fetch(), -1);
    EXPECT_EQ(fetch(10), -1);
    EXPECT_EQ(commit(1), KafkaError::none);
    EXPECT_EQ(fetch(), 1);
}

TEST_F(GroupHandlers, groups_are_described) {
    const Member member = make_member();
    for (int version = 0; version <= 6; ++version) {
        SCOPED_TRACE(version);
        const DescribeGroupsRequest request{
            .groups = {"g", "unknown"}, .include_authorized_operations = version >= 3
        };
        const auto response = client_.call<DescribeGroupsResponse>(request, version);
        const auto& group = response.groups.at(0);
        EXPECT_EQ(group.error_code, KafkaError::none);
        EXPECT_EQ(group.group_state, "Stable");
        EXPECT_EQ(group.protocol_type, "consumer");
        EXPECT_EQ(group.protocol_data, "range");
        EXPECT_EQ(group.members.at(0).member_id, member.id);
        EXPECT_EQ(group.members.at(0).client_id, "test");
        EXPECT_EQ(group.members.at(0).member_metadata, Bytes::copy("subscription"));
        EXPECT_EQ(group.members.at(0).member_assignment, Bytes::copy("assignment"));
        const auto& unknown = response.groups.at(1);
        EXPECT_EQ(unknown.group_state, "Dead");
        EXPECT_EQ(
            unknown.error_code, version < 6 ? KafkaError::none : KafkaError::group_id_not_found
        );
    }
}

TEST_F(GroupHandlers, groups_are_listed_and_filtered) {
    make_member();
    OffsetCommitRequest other = commit_request(1, 9, {});
    other.group_id = "h";
    client_.call<OffsetCommitResponse>(other, 9);
    for (int version = 0; version <= 5; ++version) {
        const auto listed = client_.call<ListGroupsResponse>(ListGroupsRequest{}, version);
        ASSERT_EQ(listed.groups.size(), 2U);
        EXPECT_EQ(listed.groups[0].group_id, "g");
        EXPECT_EQ(listed.groups[0].protocol_type, "consumer");
        EXPECT_EQ(listed.groups[0].group_state, version >= 4 ? "Stable" : "");
        EXPECT_EQ(listed.groups[1].group_type, version >= 5 ? "Classic" : "");
    }
    const auto ids = [&](std::vector<std::string> states, std::vector<std::string> types) {
        std::string all;
        const auto listed = client_.call<ListGroupsResponse>(
            ListGroupsRequest{.states_filter = states, .types_filter = types}, 5
        );
        for (const auto& group : listed.groups) {
            all += group.group_id;
        }
        return all;
    };
    EXPECT_EQ(ids({"empty"}, {}), "h");
    EXPECT_EQ(ids({"STABLE", "empty"}, {"classic"}), "gh");
    EXPECT_EQ(ids({}, {"consumer"}), "");
    EXPECT_EQ(ids({"PreparingRebalance"}, {}), "");
}

TEST_F(GroupHandlers, groups_are_deleted) {
    const Member member = make_member();
    commit(1, 9, member);
    const auto remove = [&](const std::string& group, int version) {
        const DeleteGroupsRequest request{.groups_names = {group}};
        return client_.call<DeleteGroupsResponse>(request, version).results.at(0).error_code;
    };
    EXPECT_EQ(remove("g", 0), KafkaError::non_empty_group);
    EXPECT_EQ(leave(member), KafkaError::none);
    EXPECT_EQ(remove("g", 3), KafkaError::none);
    EXPECT_EQ(remove("g", 2), KafkaError::group_id_not_found);
    EXPECT_EQ(remove("unknown", 1), KafkaError::group_id_not_found);
    EXPECT_EQ(state(), "Dead");
    EXPECT_EQ(fetch(), -1);
    EXPECT_TRUE(client_.call<ListGroupsResponse>(ListGroupsRequest{}, 5).groups.empty());
}

TEST_F(GroupHandlers, offsets_are_deleted_unless_somebody_reads_the_topic) {
    const auto remove = [&](const std::string& group) {
        const OffsetDeleteRequest request{
            .group_id = group,
            .topics = {{.name = "events", .partitions = {{.partition_index = 1}}}},
        };
        return client_.call<OffsetDeleteResponse>(request, 0);
    };
    EXPECT_EQ(remove("g").error_code, KafkaError::group_id_not_found);
    EXPECT_EQ(commit(5), KafkaError::none);
    EXPECT_EQ(remove("g").topics.at(0).partitions.at(0).error_code, KafkaError::none);
    EXPECT_EQ(fetch(), -1);
    EXPECT_EQ(commit(5), KafkaError::none);
    JoinGroupRequest join = join_request("");
    join.protocols[0].metadata =
        Bytes::copy(std::string_view("\0\0\0\0\0\1\0\6events\xff\xff\xff\xff", 18));
    auto joined = client_.call<JoinGroupResponse>(join, 3);
    EXPECT_EQ(
        remove("g").topics.at(0).partitions.at(0).error_code, KafkaError::group_subscribed_to_topic
    );
    EXPECT_EQ(leave({joined.member_id, joined.generation_id}), KafkaError::none);
    EXPECT_EQ(remove("g").topics.at(0).partitions.at(0).error_code, KafkaError::none);
}

TEST_F(GroupHandlers, names_that_cannot_be) {
    JoinGroupRequest join = join_request("");
    join.group_id = "";
    EXPECT_EQ(client_.call<JoinGroupResponse>(join, 9).error_code, KafkaError::invalid_group_id);
    join.group_id = std::string(1025, 'x');
    EXPECT_EQ(client_.call<JoinGroupResponse>(join, 9).error_code, KafkaError::invalid_group_id);
    EXPECT_EQ(
        client_.call<HeartbeatResponse>(HeartbeatRequest{}, 4).error_code,
        KafkaError::invalid_group_id
    );
    // Offsets may be kept under the empty name, as under any other.
    OffsetCommitRequest commit = commit_request(4, 9, {});
    commit.group_id = "";
    EXPECT_EQ(
        client_.call<OffsetCommitResponse>(commit, 9).topics[0].partitions[0].error_code,
        KafkaError::none
    );
    EXPECT_EQ(fetch(), -1);
    const SyncGroupRequest sync{.group_id = "g"};
    EXPECT_EQ(
        client_.call<SyncGroupResponse>(sync, 5).error_code, KafkaError::inconsistent_group_protocol
    );
}

TEST_F(GroupHandlers, a_hundred_members_rebalance_within_a_second) {
    constexpr std::size_t count = 100;
    ServerOptions options;
    options.groups.initial_rebalance_delay = 100ms;
    TestBroker broker(options);
    std::vector<TestClient> clients;
    std::vector<std::int32_t> asked;
    std::vector<std::string> ids(count);
    for (std::size_t i = 0; i <= count; ++i) {
        clients.push_back(broker.connect());
    }
    const MonoTime begin = broker.sim.loop.now();
    for (std::size_t i = 0; i < count; ++i) {
        asked.push_back(clients[i].send(join_request(""), 3));
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto joined = clients[i].receive<JoinGroupResponse>(asked[i], 3);
        ASSERT_EQ(joined.error_code, KafkaError::none);
        ASSERT_EQ(joined.generation_id, 1);
        ids[i] = joined.member_id;
    }
    const std::int32_t last = clients[count].send(join_request(""), 3);
    broker.sim.loop.run_for(10ms);  // it is on its way
    std::vector<std::int32_t> beats;
    for (std::size_t i = 0; i < count; ++i) {
        const HeartbeatRequest beat{.group_id = "g", .generation_id = 1, .member_id = ids[i]};
        beats.push_back(clients[i].send(beat, 3));
        asked[i] = clients[i].send(join_request(ids[i]), 3);
    }
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(
            clients[i].receive<HeartbeatResponse>(beats[i], 3).error_code,
            KafkaError::rebalance_in_progress
        );
    }
    std::size_t told = clients[count].receive<JoinGroupResponse>(last, 3).members.size();
    for (std::size_t i = 0; i < count; ++i) {
        const auto joined = clients[i].receive<JoinGroupResponse>(asked[i], 3);
        ASSERT_EQ(joined.generation_id, 2);
        told += joined.members.size();
    }
    EXPECT_EQ(told, count + 1) << "one leader, and it knows all";
    EXPECT_LE(broker.sim.loop.now() - begin, 1s);
}

TEST_F(GroupHandlers, a_clock_set_back_an_hour_changes_no_time_out_and_no_offset) {
    const Member member = make_member();
    EXPECT_EQ(commit(1, 9, member), KafkaError::none);
    const auto heartbeat = [&] {
        const HeartbeatRequest request{
            .group_id = "g", .generation_id = member.generation, .member_id = member.id
        };
        return client_.call<HeartbeatResponse>(request, 4).error_code;
    };
    for (const auto error : {-1h, 1h, -1h}) {
        broker_.sim.clock.set_wall_error(error);
        for (int i = 0; i < 5; ++i) {
            broker_.sim.loop.run_for(6s);
            EXPECT_EQ(heartbeat(), KafkaError::none);
        }
    }
    EXPECT_EQ(commit(2, 9, member), KafkaError::none);
    EXPECT_EQ(fetch(), 2);
    broker_.sim.loop.run_for(9s);
    EXPECT_EQ(state(), "Stable");
    broker_.sim.loop.run_for(2s);
    EXPECT_EQ(state(), "Empty") << "the silent member is out when its time-out has passed";
    EXPECT_EQ(commit(3, 9, member), KafkaError::unknown_member_id);
    EXPECT_EQ(fetch(), 2);
}

TEST_F(GroupHandlers, metrics_count_what_happens) {
    const Member member = make_member();
    commit(1, 9, member);
    EXPECT_EQ(broker_.metrics.groups.groups.value(), 1);
    EXPECT_EQ(broker_.metrics.groups.members.value(), 1);
    EXPECT_EQ(broker_.metrics.groups.rebalances.value(), 1U);
    EXPECT_EQ(broker_.metrics.groups.commits.value(), 1U);
    leave(member);
    EXPECT_EQ(broker_.metrics.groups.members.value(), 0);
    broker_.stop();
    EXPECT_EQ(broker_.metrics.groups.groups.value(), 0);
}

TEST_F(GroupHandlers, a_stop_does_not_wait_for_members) {
    ServerOptions slow;
    slow.groups.initial_rebalance_delay = 1h;
    TestBroker broker(slow);
    TestClient client = broker.connect();
    const std::int32_t id = client.send(join_request(""), 3);
    broker.sim.loop.run_for(1s);
    const MonoTime begin = broker.sim.loop.now();
    broker.stop(30s);
    EXPECT_LE(broker.sim.loop.now() - begin, 1s);
    EXPECT_EQ(client.receive<JoinGroupResponse>(id, 3).error_code, KafkaError::not_coordinator);
}

}  // namespace
}  // namespace lakestream::kafka
