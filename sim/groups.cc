// SPDX-License-Identifier: Apache-2.0
// Group requests in random versions, and what their answers may not say.
#include "sim/groups.h"

#include <algorithm>

#include "base/format.h"
#include "base/log.h"
#include "codec/kafka/gen/delete_groups.h"
#include "codec/kafka/gen/heartbeat.h"
#include "codec/kafka/gen/join_group.h"
#include "codec/kafka/gen/leave_group.h"
#include "codec/kafka/gen/list_groups.h"
#include "codec/kafka/gen/offset_commit.h"
#include "codec/kafka/gen/offset_fetch.h"
#include "codec/kafka/gen/sync_group.h"

namespace lakestream::sim {

namespace {

using kafka_api::ErrorCode;

constexpr std::string_view topic = "topic0";
constexpr std::int32_t session_ms = 10'000;
constexpr std::int32_t rebalance_ms = 20'000;
constexpr Duration patience = 60s;  // longer than any rebalance
constexpr std::int16_t last_version_by_name = 9;
constexpr std::int16_t last_version_of_one = 7;

Error refusal(ErrorCode code) {
    return conflict("{}", kafka_api::to_string(code));
}

}  // namespace

void GroupBook::sent(std::int32_t partition, std::int64_t offset) {
    for (auto* const highest : {&tried, &tried_meanwhile}) {
        auto& there = highest->try_emplace(partition, -1).first->second;
        there = std::max(there, offset);
    }
}

void GroupBook::removed() {
    by_partition.clear();
    tried = tried_meanwhile;
}

std::string GroupMember::status() const {
    return fmt::format(
        "{} generation {} parts {} commits {} last error {}",
        id_,
        generation_,
        positions_.size(),
        commits_,
        last_error_
    );
}

rt::Task<void> GroupMember::run() {
    std::uint64_t calm_commits = 0;
    while (!hung_up() && calm_commits < 2) {
        const std::uint64_t before = commits_;
        const bool was_calm = !chaos();
        const Status worked = co_await work_once();
        if (!worked.ok()) {
            last_error_ = worked.error().message;
        }
        // One without a part has nothing to commit.
        const bool idle = worked.ok() && fetched_ && positions_.empty();
        calm_commits += was_calm && (commits_ > before || idle) ? 1 : 0;
        co_await nap(worked.ok() ? world_.knobs.workload.think_max : 1s);
    }
    const auto connection = co_await coordinator();
    if (connection.ok()) {
        static_cast<void>((co_await leave(**connection)).ok());
    }
}

rt::Task<Result<Connection*>> GroupMember::coordinator() {
    if (favourite_ == nullptr || rng().chance(1, chaos() ? 30 : 1000)) {
        favourite_ = &world_.random_host(rng());
    }
    auto connection = co_await connections_.get(*favourite_);
    if (!connection.ok() && chaos()) {
        favourite_ = nullptr;
    }
    co_return std::move(connection);
}

rt::Task<Status> GroupMember::work_once() {
    Connection& connection = *LKS_CO_TRY(co_await coordinator());
    if (generation_ < 0) {
        co_return co_await join(connection);
    }
    if (!fetched_ || life_ != connection.life()) {
        co_return co_await fetch(connection);
    }
    if (chaos() && rng().chance(1, 60)) {
        if (instance_.has_value()) {
            forget();  // its process ends without a word, and its successor takes its place
            co_return Status();
        }
        LKS_CO_TRY(co_await leave(connection));
        co_return rng().chance(1, 2) ? co_await remove(connection) : Status();
    }
    if (rng().chance(1, 40)) {
        co_return co_await look(connection);
    }
    if (chaos() && rng().chance(1, 60)) {
        co_await nap(2 * std::chrono::milliseconds(session_ms));  // falls asleep
    }
    if (positions_.empty() || rng().chance(1, 2)) {
        co_return co_await heartbeat(connection);
    }
    co_return co_await commit(connection);
}

void GroupMember::forget() {
    id_.clear();
    generation_ = -1;
    fetched_ = false;
    positions_.clear();
}

/// What a member does after an error: it begins anew, as itself or as another.
Status GroupMember::judge(ErrorCode code) {
    if (code == ErrorCode::none) {
        return {};
    }
    if (code == ErrorCode::unknown_member_id || code == ErrorCode::fenced_instance_id) {
        id_.clear();
    }
    if (code == ErrorCode::not_coordinator && chaos()) {
        favourite_ = nullptr;
    }
    const bool only_later =
        code == ErrorCode::coordinator_load_in_progress ||
        code == ErrorCode::coordinator_not_available || code == ErrorCode::not_coordinator ||
        code == ErrorCode::unknown_topic_or_partition || code == ErrorCode::unknown_topic_id;
    if (!only_later) {
        generation_ = -1;
        fetched_ = false;
        positions_.clear();
    }
    return refusal(code);
}

rt::Task<Status> GroupMember::join(Connection& connection) {
    kafka_api::JoinGroupRequest request{
        .group_id = group_,
        .session_timeout_ms = session_ms,
        .rebalance_timeout_ms = rebalance_ms,
        .member_id = id_,
        .group_instance_id = instance_,
        .protocol_type = "consumer",
        .protocols = {{.name = "range", .metadata = Bytes::copy("s")}},
    };
    const auto version = version_of<kafka_api::JoinGroupRequest>(5, 1);
    const auto response = LKS_CO_TRY(co_await connection.call<kafka_api::JoinGroupResponse>(
        request, version, executor_.now() + patience
    ));
    if (response.error_code == ErrorCode::member_id_required) {
        id_ = response.member_id;
        co_return refusal(response.error_code);
    }
    LKS_CO_TRY(judge(response.error_code));
    id_ = response.member_id;
    std::vector<std::string> members;
    for (const auto& member : response.members) {
        members.push_back(member.member_id);
    }
    if (!members.empty() && std::ranges::find(members, response.leader) == members.end()) {
        world_.violated("INV-GROUP-GENERATION", fmt::format("{}: a foreign leader", group_));
    }
    generation_ = response.generation_id;
    co_return co_await sync(connection, std::move(members));
}

rt::Task<Status> GroupMember::sync(Connection& connection, std::vector<std::string> members) {
    kafka_api::SyncGroupRequest request{
        .group_id = group_,
        .generation_id = generation_,
        .member_id = id_,
        .group_instance_id = instance_,
    };
    for (std::size_t i = 0; i < members.size(); ++i) {
        std::string part;
        for (std::size_t p = i; p < world_.knobs.workload.partitions; p += members.size()) {
            part.push_back(static_cast<char>(p));
        }
        request.assignments.push_back(
            {.member_id = members[i], .assignment = Bytes::own(std::move(part))}
        );
    }
    const auto version = version_of<kafka_api::SyncGroupRequest>(3);
    if (version >= 5) {
        request.protocol_type = "consumer";
        request.protocol_name = "range";
    }
    const auto response = co_await connection.call<kafka_api::SyncGroupResponse>(
        request, version, executor_.now() + patience
    );
    if (!response.ok()) {
        generation_ = -1;
        co_return response.error();
    }
    LKS_CO_TRY(judge(response->error_code));
    positions_.clear();
    fetched_ = false;
    for (const std::byte partition : response->assignment) {
        positions_[static_cast<std::int32_t>(partition)] = -1;
    }
    co_return Status();
}

rt::Task<Status> GroupMember::heartbeat(Connection& connection) {
    const kafka_api::HeartbeatRequest request{
        .group_id = group_,
        .generation_id = generation_,
        .member_id = id_,
        .group_instance_id = instance_,
    };
    const auto response = LKS_CO_TRY(co_await connection.call<kafka_api::HeartbeatResponse>(
        request, version_of<kafka_api::HeartbeatRequest>(3), executor_.now() + patience
    ));
    co_return judge(response.error_code);
}

rt::Task<Status> GroupMember::fetch(Connection& connection) {
    std::map<std::int32_t, std::int64_t> floors;
    kafka_api::OffsetFetchRequest request{.group_id = group_};
    auto& asked = request.topics.emplace().emplace_back();
    asked.name = topic;
    for (const auto& [partition, position] : positions_) {
        asked.partition_indexes.push_back(partition);
        floors[partition] = book_.by_partition[partition].offset;
    }
    const auto steady = book_.steady();
    const auto version = draw_version<kafka_api::OffsetFetchRequest>(rng(), 2, last_version_of_one);
    const auto response = LKS_CO_TRY(co_await connection.call<kafka_api::OffsetFetchResponse>(
        request, version, executor_.now() + patience
    ));
    LKS_CO_TRY(judge(response.error_code));
    for (const auto& found : response.topics.at(0).partitions) {
        if (steady.has_value() && steady == book_.steady()) {
            check_fetched(
                found.partition_index, found.committed_offset, floors.at(found.partition_index)
            );
        }
        positions_[found.partition_index] = found.committed_offset;
    }
    life_ = connection.life();
    fetched_ = true;
    co_return Status();
}

void GroupMember::check_fetched(std::int32_t partition, std::int64_t offset, std::int64_t floor) {
    if (offset < floor) {
        world_.violated(
            "INV-GROUP-COMMIT",
            fmt::format(
                "{} {}: fetched {} when {} had been acknowledged", group_, partition, offset, floor
            )
        );
    }
    const auto tried = book_.tried.find(partition);
    const std::int64_t highest = tried != book_.tried.end() ? tried->second : -1;
    if (offset > highest) {
        world_.violated(
            "INV-GROUP-FENCE",
            fmt::format(
                "{} {}: fetched {} of a group that was deleted, {} is the highest since",
                group_,
                partition,
                offset,
                highest
            )
        );
    }
}

rt::Task<Status> GroupMember::commit(Connection& connection) {
    auto at = positions_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(rng().below(positions_.size())));
    const std::int32_t partition = at->first;
    const std::int64_t offset = at->second + 1;
    kafka_api::OffsetCommitRequest request{
        .group_id = group_,
        .generation_id_or_member_epoch = generation_,
        .member_id = id_,
        .group_instance_id = instance_,
        .topics =
            {{.name = std::string(topic),
              .partitions = {{.partition_index = partition, .committed_offset = offset}}}},
    };
    const auto steady = book_.steady();
    const std::int32_t newest = book_.by_partition[partition].generation;
    const std::int32_t generation = generation_;
    book_.sent(partition, offset);
    const auto version = draw_version<kafka_api::OffsetCommitRequest>(
        rng(), instance_.has_value() ? 7 : 2, last_version_by_name
    );
    const auto response = co_await connection.call<kafka_api::OffsetCommitResponse>(
        request, version, executor_.now() + patience
    );
    if (!response.ok()) {
        fetched_ = false;  // it may be there or not
        co_return response.error();
    }
    const ErrorCode code = response->topics.at(0).partitions.at(0).error_code;
    if (code != ErrorCode::none) {
        fetched_ = false;
        co_return judge(code);
    }
    generation_ = generation;
    const bool is_known = steady.has_value() && steady == book_.steady();
    acknowledged(partition, offset, is_known ? std::optional(newest) : std::nullopt);
    positions_[partition] = offset;
    co_return Status();
}

/// INV-GROUP-FENCE: whoever's commit is acknowledged was a member of the newest generation when it
/// was sent.
void GroupMember::acknowledged(
    std::int32_t partition, std::int64_t offset, std::optional<std::int32_t> newest
) {
    ++commits_;
    if (newest.value_or(-1) > generation_) {
        world_.violated(
            "INV-GROUP-FENCE",
            fmt::format(
                "{} {}: a commit of generation {} after one of {}",
                group_,
                partition,
                generation_,
                *newest
            )
        );
    }
    if (!newest.has_value()) {
        return;  // of a group that may be gone
    }
    GroupBook::Told& told = book_.by_partition[partition];
    told.generation = std::max(told.generation, generation_);
    told.offset = std::max(told.offset, offset);
}

rt::Task<Status> GroupMember::leave(Connection& connection) {
    kafka_api::LeaveGroupRequest request{.group_id = group_};
    const auto version = version_of<kafka_api::LeaveGroupRequest>(3);
    if (version < 3) {
        request.member_id = id_;
    } else {
        request.members.push_back({.member_id = id_, .group_instance_id = instance_});
    }
    forget();
    const auto response = LKS_CO_TRY(co_await connection.call<kafka_api::LeaveGroupResponse>(
        request, version, executor_.now() + patience
    ));
    co_return response.error_code == ErrorCode::none ? Status() : refusal(response.error_code);
}

/// Refused unless all have left. Whoever is told that there is no such group knows of no commit.
rt::Task<Status> GroupMember::remove(Connection& connection) {
    if (!book_.steady().has_value()) {
        co_return Status();
    }
    const bool has_offsets = std::ranges::any_of(book_.by_partition, [](const auto& each) {
        return each.second.offset >= 0;
    });
    ++book_.removals;
    book_.removing = true;
    book_.tried_meanwhile.clear();
    const auto response = co_await connection.call<kafka_api::DeleteGroupsResponse>(
        kafka_api::DeleteGroupsRequest{.groups_names = {group_}},
        draw_version<kafka_api::DeleteGroupsRequest>(rng()),
        executor_.now() + patience
    );
    book_.removing = false;
    if (!response.ok()) {
        book_.unsure = true;
        co_return response.error();
    }
    const ErrorCode code = response->results.at(0).error_code;
    if (code == ErrorCode::none) {
        book_.removed();
        co_return Status();
    }
    if (code == ErrorCode::group_id_not_found && has_offsets) {
        world_.violated("INV-GROUP-COMMIT", fmt::format("{} is gone", group_));
    }
    book_.unsure = code != ErrorCode::non_empty_group && code != ErrorCode::group_id_not_found;
    co_return refusal(code);
}

/// A group with offsets is listed, whether the node that is asked has it in memory or not.
rt::Task<Status> GroupMember::look(Connection& connection) {
    const auto steady = book_.steady();
    const bool has_offsets = std::ranges::any_of(book_.by_partition, [](const auto& each) {
        return each.second.offset >= 0;
    });
    const auto response = LKS_CO_TRY(co_await connection.call<kafka_api::ListGroupsResponse>(
        kafka_api::ListGroupsRequest(),
        draw_version<kafka_api::ListGroupsRequest>(rng()),
        executor_.now() + patience
    ));
    LKS_CO_TRY(judge(response.error_code));
    const bool listed = std::ranges::any_of(response.groups, [&](const auto& each) {
        return each.group_id == group_;
    });
    if (has_offsets && !listed && steady.has_value() && steady == book_.steady()) {
        world_.violated("INV-GROUP-COMMIT", fmt::format("{} is not listed", group_));
    }
    co_return Status();
}

}  // namespace lakestream::sim
