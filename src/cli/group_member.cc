// SPDX-License-Identifier: Apache-2.0
// The classic protocol of consumer groups, from a member's side.
#include "cli/group_member.h"

#include <algorithm>

#include "base/format.h"
#include "cli/consumer_protocol.h"
#include "codec/kafka/gen/find_coordinator.h"
#include "codec/kafka/gen/heartbeat.h"
#include "codec/kafka/gen/join_group.h"
#include "codec/kafka/gen/leave_group.h"
#include "codec/kafka/gen/offset_commit.h"
#include "codec/kafka/gen/offset_fetch.h"
#include "codec/kafka/gen/sync_group.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;

namespace {

constexpr std::int16_t find_version_max = 3;    // the last with one key
constexpr std::int16_t fetch_version_max = 7;   // the last with one group
constexpr std::int16_t commit_version_max = 9;  // the last that names topics
constexpr std::int32_t session_ms = 45'000;     // as the Java client
constexpr std::int32_t rebalance_ms = 60'000;
constexpr Duration heartbeat_every = 3s;
constexpr std::string_view protocol_type = "consumer";
constexpr std::string_view protocol_name = "range";

}  // namespace

rt::Task<Result<net::Address>> find_coordinator(Broker& broker, std::string group) {
    const Deadline deadline = broker.now() + patience;
    while (true) {
        kafka::FindCoordinatorRequest request;
        request.key = group;
        const auto found = LKS_CO_TRY(co_await broker.call<kafka::FindCoordinatorResponse>(
            std::move(request), find_version_max
        ));
        Status status = check_code(
            found.error_code, fmt::format("coordinator of group {}", group), found.error_message
        );
        if (status.ok()) {
            co_return net::Address{
                .host = found.host, .port = static_cast<std::uint16_t>(found.port)
            };
        }
        if (!status.is(ErrorCode::unavailable) || broker.now() >= deadline) {
            co_return std::move(status).error();
        }
        co_await rt::sleep_until(broker.now() + 100ms);
    }
}

rt::Task<Result<std::vector<Offset>>> load_committed(
    Broker& coordinator, std::string group, std::string topic, std::vector<std::int32_t> partitions
) {
    kafka::OffsetFetchRequest request;
    request.group_id = group;
    request.topics->push_back({.name = topic, .partition_indexes = partitions});
    const auto found = LKS_CO_TRY(
        co_await coordinator.call<kafka::OffsetFetchResponse>(std::move(request), fetch_version_max)
    );
    LKS_CO_TRY(check_code(found.error_code, fmt::format("group {}", group)));
    std::vector<Offset> offsets(partitions.size(), Offset(-1));
    for (const auto& answer : found.topics) {
        for (const auto& partition : answer.partitions) {
            LKS_CO_TRY(check_code(
                partition.error_code, fmt::format("{} {}", topic, partition.partition_index)
            ));
            const auto at = std::ranges::find(partitions, partition.partition_index);
            if (at != partitions.end()) {
                offsets[static_cast<std::size_t>(at - partitions.begin())] =
                    Offset(partition.committed_offset);
            }
        }
    }
    co_return offsets;
}

rt::Task<Status> leave_group(Broker& coordinator, std::string group, std::string member) {
    kafka::LeaveGroupRequest request;
    request.group_id = group;
    if (coordinator.version(kafka::ApiKey::leave_group, 0x7fff).value_or(0) < 3) {
        request.member_id = member;
    } else {
        request.members.push_back({.member_id = member, .group_instance_id = std::nullopt});
    }
    LKS_CO_TRY(co_await coordinator.call<kafka::LeaveGroupResponse>(std::move(request)));
    co_return Status();  // whatever it says: the session ends by itself
}

GroupMember::GroupMember(Broker& coordinator, std::string group, std::string topic)
    : coordinator_(coordinator),
      group_(std::move(group)),
      topic_(std::move(topic)),
      scope_(coordinator.executor()) {
    scope_.spawn(heartbeat());
}

rt::Task<Result<std::vector<std::int32_t>>> GroupMember::join(std::int32_t partitions) {
    const Deadline deadline = coordinator_.now() + 4 * patience;  // others may take a minute
    joined_ = false;
    while (!joined_) {
        stale_ = false;
        LKS_CO_TRY(co_await join_once(partitions));
        if (!joined_ && coordinator_.now() >= deadline) {
            co_return unavailable("group {} did not come to rest", group_);
        }
    }
    co_return assigned_;
}

bool GroupMember::must_rejoin(kafka::ErrorCode code) {
    switch (code) {
        case kafka::ErrorCode::unknown_member_id: member_id_.clear(); [[fallthrough]];
        case kafka::ErrorCode::rebalance_in_progress:
        case kafka::ErrorCode::illegal_generation:
        case kafka::ErrorCode::member_id_required: stale_ = true; return true;
        default: return false;
    }
}

/// `joined_` afterwards, or once more.
rt::Task<Status> GroupMember::join_once(std::int32_t partitions) {
    const std::string what = fmt::format("group {}", group_);
    kafka::JoinGroupRequest join;
    join.group_id = group_;
    join.session_timeout_ms = session_ms;
    join.rebalance_timeout_ms = rebalance_ms;
    join.member_id = member_id_;
    join.protocol_type = protocol_type;
    join.protocols.push_back(
        {.name = std::string(protocol_name), .metadata = encode_subscription({topic_})}
    );
    const auto joined =
        LKS_CO_TRY(co_await coordinator_.call<kafka::JoinGroupResponse>(std::move(join)));
    if (must_rejoin(joined.error_code)) {
        if (joined.error_code == kafka::ErrorCode::member_id_required) {
            member_id_ = joined.member_id;
        }
        co_return Status();
    }
    LKS_CO_TRY(check_code(joined.error_code, what));
    member_id_ = joined.member_id;
    generation_ = joined.generation_id;

    kafka::SyncGroupRequest sync;
    sync.group_id = group_;
    sync.generation_id = generation_;
    sync.member_id = member_id_;
    sync.protocol_type = protocol_type;
    sync.protocol_name = protocol_name;
    if (joined.leader == member_id_) {
        std::vector<std::string> members;
        for (const auto& member : joined.members) {
            const auto topics = LKS_CO_TRY(decode_subscription(member.metadata));
            if (std::ranges::find(topics, topic_) != topics.end()) {
                members.push_back(member.member_id);
            }
        }
        for (auto& [member, mine] : assign_ranges(std::move(members), partitions)) {
            sync.assignments.push_back(
                {.member_id = member, .assignment = encode_assignment({{topic_, mine}})}
            );
        }
    }
    const auto synced =
        LKS_CO_TRY(co_await coordinator_.call<kafka::SyncGroupResponse>(std::move(sync)));
    if (!must_rejoin(synced.error_code)) {
        LKS_CO_TRY(check_code(synced.error_code, what));
        assigned_ = LKS_CO_TRY(decode_assignment(synced.assignment))[topic_];
        joined_ = true;
    }
    co_return Status();
}

rt::Task<void> GroupMember::heartbeat() {
    while (!co_await scope_.stop().sleep_until(coordinator_.now() + heartbeat_every)) {
        if (!joined_ || stale_) {
            continue;
        }
        kafka::HeartbeatRequest request;
        request.group_id = group_;
        request.generation_id = generation_;
        request.member_id = member_id_;
        const auto answer =
            co_await coordinator_.call<kafka::HeartbeatResponse>(std::move(request));
        if (answer.ok()) {
            must_rejoin(answer->error_code);  // other errors show when we commit
        }
    }
}

rt::Task<Status> GroupMember::commit(std::map<std::int32_t, Offset> next) {
    if (next.empty()) {
        co_return Status();
    }
    kafka::OffsetCommitRequest request;
    request.group_id = group_;
    request.generation_id_or_member_epoch = generation_;
    request.member_id = member_id_;
    auto& topic = request.topics.emplace_back();
    topic.name = topic_;
    for (const auto& [partition, offset] : next) {
        topic.partitions.push_back(
            {.partition_index = partition, .committed_offset = offset.v, .committed_metadata = ""}
        );
    }
    const auto done = LKS_CO_TRY(co_await coordinator_.call<kafka::OffsetCommitResponse>(
        std::move(request), commit_version_max
    ));
    for (const auto& answer : done.topics) {
        for (const auto& partition : answer.partitions) {
            if (must_rejoin(partition.error_code)) {
                co_return conflict("group {} is being assigned anew", group_);
            }
            LKS_CO_TRY(check_code(partition.error_code, fmt::format("group {}", group_)));
        }
    }
    co_return Status();
}

rt::Task<std::string> GroupMember::close() {
    co_await scope_.close();
    if (!member_id_.empty() && (co_await leave_group(coordinator_, group_, member_id_)).ok()) {
        member_id_.clear();
    }
    co_return member_id_;
}

}  // namespace lakestream::cli
