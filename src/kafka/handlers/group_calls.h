// SPDX-License-Identifier: Apache-2.0
// What the handlers of group requests share.
#pragma once

#include <string>
#include <string_view>

#include "kafka/dispatch.h"
#include "kafka/error_map.h"
#include "kafka/groups/groups.h"
#include "kafka/groups/selector.h"

namespace lakestream::kafka {

enum class EmptyGroupId : std::uint8_t { refused, allowed };  // offsets may be kept under it

/// Groups of one request that are asked at the same time: each holds its answer until all before it
/// are there.
inline constexpr std::size_t groups_at_once = 4;

/// What is told of groups that would make a response, or all responses, too large. Clients ask
/// again for those.
inline constexpr KafkaError too_much_error = KafkaError::coordinator_load_in_progress;

/// Whether this broker answers for the group.
inline KafkaError check_group(const Call& call, std::string_view group, EmptyGroupId empty) {
    if (group.size() > groups::group_id_bytes_max ||
        (group.empty() && empty == EmptyGroupId::refused)) {
        return KafkaError::invalid_group_id;
    }
    const Cluster& cluster = call.shard.backend.cluster;
    return groups::coordinator_of(cluster, group).id == cluster.self ? KafkaError::none
                                                                     : KafkaError::not_coordinator;
}

/// For errors of Coordinator's calls. All but the last two make every client try again.
inline KafkaError group_error(const Error& error) {
    switch (error.code) {
        case ErrorCode::not_found: return KafkaError::group_id_not_found;
        case ErrorCode::cancelled:
        case ErrorCode::fenced: return KafkaError::not_coordinator;
        case ErrorCode::exhausted: return KafkaError::coordinator_not_available;
        case ErrorCode::conflict:
        case ErrorCode::lease_lost:
        case ErrorCode::throttled:
        case ErrorCode::unavailable:
        case ErrorCode::deadline_exceeded:
        case ErrorCode::outcome_unknown: return KafkaError::coordinator_load_in_progress;
        case ErrorCode::invalid_argument:
        case ErrorCode::unsupported:
        case ErrorCode::already_exists:
        case ErrorCode::out_of_range:
        case ErrorCode::corrupt:
        case ErrorCode::internal: return KafkaError::unknown_server_error;
    }
    return KafkaError::unknown_server_error;
}

}  // namespace lakestream::kafka
