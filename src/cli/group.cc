// SPDX-License-Identifier: Apache-2.0
// group list, describe, members, delete, seek, delete-offsets.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/consumer_protocol.h"
#include "cli/group_member.h"
#include "cli/rows.h"
#include "cli/text.h"
#include "cli/topic_info.h"
#include "codec/kafka/gen/delete_groups.h"
#include "codec/kafka/gen/describe_groups.h"
#include "codec/kafka/gen/list_groups.h"
#include "codec/kafka/gen/offset_commit.h"
#include "codec/kafka/gen/offset_delete.h"
#include "codec/kafka/gen/offset_fetch.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;
using nlohmann::json;

namespace {

using Described = kafka::DescribeGroupsResponse::DescribedGroup;
using Member = kafka::DescribeGroupsResponse::DescribedGroupMember;

constexpr std::int16_t fetch_version_max = 7;   // the last with one group
constexpr std::int16_t commit_version_max = 9;  // the last that names topics

/// Both sides of a group: where its topics are, and where its offsets are.
struct Sides {
    Broker& broker;
    Broker& coordinator;
};

/// Connect to the broker and to the group's coordinator, run the command, close both.
template <class... Parameters, class... Arguments>
Status on_group(
    const std::string& bootstrap,
    const std::string& group,
    rt::Task<Status> (*command)(Sides, Parameters...),
    const Arguments&... arguments
) {
    Session session;
    const auto at_coordinator = [&] [[clang::coro_wrapper]] (Broker & broker) {
        return with_coordinator(
            session.network(),
            broker,
            group,
            [&] [[clang::coro_wrapper]] (Broker & coordinator) {
                return command(Sides{.broker = broker, .coordinator = coordinator}, arguments...);
            }
        );
    };
    return session.run(with_broker(session.network(), bootstrap, at_coordinator));
}

Status check_group(
    kafka::ErrorCode code,
    const std::string& group,
    const std::optional<std::string>& message = std::nullopt
) {
    switch (code) {
        case kafka::ErrorCode::group_id_not_found:
            return invalid_argument("there is no group {}: see `lakestream group list`", group);
        case kafka::ErrorCode::non_empty_group:
        case kafka::ErrorCode::unknown_member_id:
        case kafka::ErrorCode::group_subscribed_to_topic:
            return invalid_argument(
                "group {0} is in use: stop its members first; see `lakestream group members {0}`",
                group
            );
        default: return check_code(code, fmt::format("group {}", group), message);
    }
}

rt::Task<Status> list(Broker& broker, RecordFormat format) {
    auto found =
        LKS_CO_TRY(co_await broker.call<kafka::ListGroupsResponse>(kafka::ListGroupsRequest()));
    LKS_CO_TRY(check_code(found.error_code, "ListGroups"));
    std::ranges::sort(found.groups, {}, [](const auto& group) { return group.group_id; });
    Rows rows(format, {"group", "state", "protocol"});
    for (const auto& group : found.groups) {
        LKS_CO_TRY(rows.add(
            {group.group_id,
             group.group_state.empty() ? json(nullptr) : json(group.group_state),
             group.protocol_type.empty() ? json(nullptr) : json(group.protocol_type)}
        ));
    }
    co_return rows.finish();
}

/// The group as its coordinator sees it; nothing when it knows only offsets, or not even these.
rt::Task<Result<std::optional<Described>>> load_group(Broker& coordinator, std::string group) {
    kafka::DescribeGroupsRequest request;
    request.groups.push_back(group);
    auto found =
        LKS_CO_TRY(co_await coordinator.call<kafka::DescribeGroupsResponse>(std::move(request)));
    if (found.groups.size() != 1) {
        co_return corrupt("the broker answered with {} groups", found.groups.size());
    }
    Described described = std::move(found.groups.front());
    if (described.error_code == kafka::ErrorCode::group_id_not_found ||
        described.group_state == "Dead") {
        co_return std::nullopt;
    }
    LKS_CO_TRY(check_group(described.error_code, group, described.error_message));
    co_return described;
}

using Committed = std::map<std::string, std::map<std::int32_t, Offset>>;

/// All offsets that a group has committed.
rt::Task<Result<Committed>> load_all_committed(Broker& coordinator, std::string group) {
    kafka::OffsetFetchRequest request;
    request.group_id = group;
    request.topics = std::nullopt;
    const auto found = LKS_CO_TRY(
        co_await coordinator.call<kafka::OffsetFetchResponse>(std::move(request), fetch_version_max)
    );
    LKS_CO_TRY(check_group(found.error_code, group));
    Committed committed;
    for (const auto& topic : found.topics) {
        for (const auto& partition : topic.partitions) {
            if (partition.committed_offset >= 0) {
                committed[topic.name][partition.partition_index] =
                    Offset(partition.committed_offset);
            }
        }
    }
    co_return committed;
}

/// Who reads a partition, by topic and partition.
using Readers = std::map<std::pair<std::string, std::int32_t>, const Member*>;

Result<Readers> readers_of(const std::optional<Described>& group) {
    Readers readers;
    if (!group.has_value() || group->protocol_type != "consumer") {
        return readers;
    }
    for (const Member& member : group->members) {
        for (const auto& [topic, partitions] :
             LKS_TRY(decode_assignment(member.member_assignment))) {
            for (const std::int32_t partition : partitions) {
                readers[{topic, partition}] = &member;
            }
        }
    }
    return readers;
}

/// One topic's rows.
rt::Task<Status> describe_topic(
    Broker& broker,
    const std::string& topic,
    const std::map<std::int32_t, Offset>& committed,
    const Readers& readers,
    Rows& rows
) {
    std::vector<std::int32_t> numbers;
    for (const auto& [partition, offset] : committed) {
        numbers.push_back(partition);
    }
    const auto ends = co_await load_offsets(broker, topic, numbers, end_timestamp);
    std::size_t i = 0;
    for (const auto& [partition, offset] : committed) {
        const auto reader = readers.find({topic, partition});
        const bool read = reader != readers.end();
        const bool known = offset >= Offset(0);
        const json end = ends.ok() ? json((*ends)[i].v) : json(nullptr);
        LKS_CO_TRY(rows.add(
            {topic,
             partition,
             known ? json(offset.v) : json(nullptr),
             end,
             ends.ok() && known ? json((*ends)[i] - offset) : json(nullptr),
             read ? json(reader->second->member_id) : json(nullptr),
             read ? json(reader->second->client_id) : json(nullptr),
             read ? json(reader->second->client_host) : json(nullptr)}
        ));
        ++i;
    }
    co_return Status();
}

rt::Task<Status> describe(Sides sides, std::string group, RecordFormat format) {
    const auto described = LKS_CO_TRY(co_await load_group(sides.coordinator, group));
    auto committed = LKS_CO_TRY(co_await load_all_committed(sides.coordinator, group));
    if (!described.has_value() && committed.empty()) {
        co_return check_group(kafka::ErrorCode::group_id_not_found, group);
    }
    const Readers readers = LKS_CO_TRY(readers_of(described));
    for (const auto& [place, member] : readers) {
        committed[place.first].try_emplace(place.second, Offset(-1));
    }
    Rows rows(
        format, {"topic", "partition", "committed", "end", "lag", "member", "client", "host"}
    );
    for (const auto& [topic, offsets] : committed) {
        LKS_CO_TRY(co_await describe_topic(sides.broker, topic, offsets, readers, rows));
    }
    co_return rows.finish();
}

rt::Task<Status> members(Sides sides, std::string group, RecordFormat format) {
    const auto described = LKS_CO_TRY(co_await load_group(sides.coordinator, group));
    if (!described.has_value()) {
        co_return check_group(kafka::ErrorCode::group_id_not_found, group);
    }
    Rows rows(format, {"member", "instance", "client", "host", "state", "partitions"});
    for (const Member& member : described->members) {
        json places = json::array();
        if (described->protocol_type == "consumer") {
            for (const auto& [topic, numbers] :
                 LKS_CO_TRY(decode_assignment(member.member_assignment))) {
                for (const std::int32_t number : numbers) {
                    places.push_back(fmt::format("{}:{}", topic, number));
                }
            }
        }
        LKS_CO_TRY(rows.add(
            {member.member_id,
             member.group_instance_id ? json(*member.group_instance_id) : json(nullptr),
             member.client_id,
             member.client_host,
             described->group_state,
             places}
        ));
    }
    co_return rows.finish();
}

rt::Task<Status> remove(Sides sides, std::string group) {
    kafka::DeleteGroupsRequest request;
    request.groups_names.push_back(group);
    const auto done =
        LKS_CO_TRY(co_await sides.coordinator.call<kafka::DeleteGroupsResponse>(std::move(request))
        );
    for (const auto& result : done.results) {
        LKS_CO_TRY(check_group(result.error_code, result.group_id, result.error_message));
    }
    co_return Status();
}

/// What `seek` does to one topic, by partition.
struct Move {
    std::string topic;
    std::vector<std::int32_t> partitions;
    std::vector<Offset> offsets;
    std::vector<Offset> ends;
};

/// All or nothing. What an empty group commits is what an administrator says.
rt::Task<Status> commit(
    Broker& coordinator, const std::string& group, const std::vector<Move>& moves
) {
    kafka::OffsetCommitRequest request;
    request.group_id = group;
    for (const Move& move : moves) {
        auto& asked = request.topics.emplace_back();
        asked.name = move.topic;
        for (std::size_t i = 0; i < move.partitions.size(); ++i) {
            asked.partitions.push_back({
                .partition_index = move.partitions[i],
                .committed_offset = move.offsets[i].v,
                .committed_metadata = "",
            });
        }
    }
    const auto done = LKS_CO_TRY(co_await coordinator.call<kafka::OffsetCommitResponse>(
        std::move(request), commit_version_max
    ));
    for (const auto& answer : done.topics) {
        for (const auto& partition : answer.partitions) {
            LKS_CO_TRY(check_group(partition.error_code, group));
        }
    }
    co_return Status();
}

/// Where one topic's offsets go. An offset that no record can have is moved inside.
rt::Task<Result<Move>> plan_move(
    Broker& broker, const GroupSeek& options, std::string topic, const Committed& committed
) {
    const Topic found = LKS_CO_TRY(co_await load_topic(broker, topic));
    auto numbers = LKS_CO_TRY(partitions_of(found, options.partition));
    if (!options.topic.has_value()) {
        const auto& before = committed.at(topic);
        std::erase_if(numbers, [&](std::int32_t number) { return !before.contains(number); });
    }
    auto offsets = LKS_CO_TRY(co_await find_offsets(broker, topic, numbers, options.to));
    const auto begins = LKS_CO_TRY(co_await load_offsets(broker, topic, numbers, begin_timestamp));
    auto ends = LKS_CO_TRY(co_await load_offsets(broker, topic, numbers, end_timestamp));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        offsets[i] = std::clamp(offsets[i], begins[i], std::max(begins[i], ends[i]));
    }
    co_return Move{
        .topic = std::move(topic),
        .partitions = std::move(numbers),
        .offsets = std::move(offsets),
        .ends = std::move(ends),
    };
}

Status put_moves(const std::vector<Move>& moves, const Committed& committed, RecordFormat format) {
    Rows rows(format, {"topic", "partition", "committed", "new", "end"});
    for (const Move& move : moves) {
        const auto before = committed.find(move.topic);
        for (std::size_t i = 0; i < move.partitions.size(); ++i) {
            const std::int32_t number = move.partitions[i];
            const bool had = before != committed.end() && before->second.contains(number);
            LKS_TRY(rows.add(
                {move.topic,
                 number,
                 had ? json(before->second.at(number).v) : json(nullptr),
                 move.offsets[i].v,
                 move.ends[i].v}
            ));
        }
    }
    return rows.finish();
}

rt::Task<Status> seek(Sides sides, const GroupSeek& options) {
    const Committed committed =
        LKS_CO_TRY(co_await load_all_committed(sides.coordinator, options.group));
    std::vector<std::string> topics;
    if (options.topic.has_value()) {
        topics.push_back(*options.topic);
    } else {
        for (const auto& [topic, offsets] : committed) {
            topics.push_back(topic);
        }
    }
    if (topics.empty()) {
        co_return invalid_argument(
            "group {} has no offsets: name a --topic, or see `lakestream group list`", options.group
        );
    }
    std::vector<Move> moves;
    for (const std::string& topic : topics) {
        Move move = LKS_CO_TRY(co_await plan_move(sides.broker, options, topic, committed));
        if (!move.partitions.empty()) {
            moves.push_back(std::move(move));
        }
    }
    if (!options.dry_run && !moves.empty()) {
        LKS_CO_TRY(co_await commit(sides.coordinator, options.group, moves));
    }
    co_return put_moves(moves, committed, options.format);
}

rt::Task<Status> delete_offsets(
    Sides sides,
    std::string group,
    std::string topic,
    std::optional<std::int32_t> partition,
    RecordFormat format
) {
    const auto committed = LKS_CO_TRY(co_await load_all_committed(sides.coordinator, group));
    const auto found = committed.find(topic);
    if (found == committed.end()) {
        co_return invalid_argument(
            "group {0} has no offsets of {1}: see `lakestream group describe {0}`", group, topic
        );
    }
    kafka::OffsetDeleteRequest request;
    request.group_id = group;
    auto& asked = request.topics.emplace_back();
    asked.name = topic;
    for (const auto& [number, offset] : found->second) {
        if (partition.value_or(number) == number) {
            asked.partitions.push_back({.partition_index = number});
        }
    }
    const auto done =
        LKS_CO_TRY(co_await sides.coordinator.call<kafka::OffsetDeleteResponse>(std::move(request))
        );
    LKS_CO_TRY(check_group(done.error_code, group));
    Rows forgotten(format, {"topic", "partition", "committed"});
    for (const auto& answer : done.topics) {
        for (const auto& one : answer.partitions) {
            LKS_CO_TRY(check_group(one.error_code, group));
            LKS_CO_TRY(
                forgotten.add({topic, one.partition_index, found->second.at(one.partition_index).v})
            );
        }
    }
    co_return Status();
}

}  // namespace

Status group_list(const std::string& bootstrap, RecordFormat format) {
    return on_broker(bootstrap, list, format);
}

Status group_describe(const std::string& bootstrap, const std::string& group, RecordFormat format) {
    return on_group(bootstrap, group, describe, group, format);
}

Status group_members(const std::string& bootstrap, const std::string& group, RecordFormat format) {
    return on_group(bootstrap, group, members, group, format);
}

Status group_delete(
    const std::string& bootstrap, const std::vector<std::string>& groups, RecordFormat format
) {
    Rows deleted(format, {"group"});
    Failures failures;
    for (const std::string& group : groups) {  // each may have a coordinator of its own
        Status done = on_group(bootstrap, group, remove, group);
        if (done.ok()) {
            LKS_TRY(deleted.add({group}));
        }
        failures.add(std::move(done));
    }
    return std::move(failures).last();
}

Status group_seek(const std::string& bootstrap, const GroupSeek& options) {
    return on_group(bootstrap, options.group, seek, options);
}

Status group_delete_offsets(
    const std::string& bootstrap,
    const std::string& group,
    const std::string& topic,
    std::optional<std::int32_t> partition,
    RecordFormat format
) {
    return on_group(bootstrap, group, delete_offsets, group, topic, partition, format);
}

}  // namespace lakestream::cli
