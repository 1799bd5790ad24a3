// SPDX-License-Identifier: Apache-2.0
// Settings of consumer groups, as a plain struct with its defaults.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace lakestream::kafka::groups {

/// Kafka's names in parentheses; its defaults unless a comment says otherwise.
struct GroupOptions {
    /// Session time-outs that members may ask for (group.min/max.session.timeout.ms).
    Duration session_timeout_min = 6s;
    Duration session_timeout_max = 30min;
    /// How long the first rebalance of an empty group waits for further members
    /// (group.initial.rebalance.delay.ms).
    Duration initial_rebalance_delay = 3s;
    /// Most members of one group (group.max.size; Kafka: no limit).
    std::size_t members_max = 5000;
    /// Most bytes of metadata with one committed offset (offset.metadata.max.bytes).
    std::size_t offset_metadata_bytes_max = 4096;
    /// How long offsets are kept after their group has become empty (offsets.retention.minutes).
    Duration offsets_retention = std::chrono::hours(7 * 24);
    /// Time between two looks for expired offsets (offsets.retention.check.interval.ms).
    Duration offsets_check_interval = 10min;
    /// How long a commit waits for the metadata store (offsets.commit.timeout.ms).
    Duration commit_timeout = 5s;
    /// Most groups of one executor, and most partitions with an offset of one group (Kafka: no
    /// limits).
    std::size_t groups_max = 100'000;
    std::size_t offsets_per_group_max = 200'000;
    /// Most bytes that the members of one group may make the node keep: subscriptions and
    /// assignments. A stored group has to fit into one metadata write.
    std::size_t group_bytes_max = 4 << 20;
    /// Most bytes of all groups in memory, members and offsets, of all executors together; each has
    /// its part, but never less than two of the largest groups. Groups without members make room
    /// for others and are loaded again when asked for.
    std::size_t memory_max = 256 << 20;

    /// Of one executor. Groups are spread by a hash, so each has the same part of the memory.
    GroupOptions part_of(std::size_t executors) const {
        GroupOptions part = *this;
        part.memory_max = std::max(memory_max / executors, 2 * group_bytes_max);
        return part;
    }
};

/// A JoinGroup of a new member that is not answered for this long is forgotten: such a member has
/// no id yet, so it cannot heartbeat, and a client that hung up cannot be told from a patient one.
inline constexpr Duration new_member_patience = 5min;

/// One that was told its id and does not come back is forgotten after this, or its session
/// time-out.
inline constexpr Duration invitation_patience = 1min;

/// Least time between two looks whether any of several static members has come back.
inline constexpr Duration absence_pause = 1s;

/// Most ways of assigning that one member may offer: they are compared with those of all others.
inline constexpr std::size_t protocols_max = 100;

/// Longest part of a member id that the client chooses: its own id or instance id.
inline constexpr std::size_t member_name_bytes_max = 256;

/// Longest group id (Kafka: that of any string).
inline constexpr std::size_t group_id_bytes_max = 1024;

}  // namespace lakestream::kafka::groups
