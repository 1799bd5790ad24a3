// SPDX-License-Identifier: Apache-2.0
// GroupMember: one member of a consumer group, as `topic consume --group` is one. And where a
// group's coordinator is, and what its offsets are, for all who ask about groups.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/session.h"
#include "lakestream/types.h"
#include "rt/scope.h"

namespace lakestream::cli {

/// Errors: `unavailable` (no coordinator within `patience`), and of Broker::call.
rt::Task<Result<net::Address>> find_coordinator(Broker& broker, std::string group);

/// Committed offsets of some partitions; -1: none.
rt::Task<Result<std::vector<Offset>>> load_committed(
    Broker& coordinator, std::string group, std::string topic, std::vector<std::int32_t> partitions
);

/// Take a member out of its group.
rt::Task<Status> leave_group(Broker& coordinator, std::string group, std::string member);

/// Connect to the coordinator, run `body(coordinator)`, close.
template <class Body>
rt::Task<Status> with_coordinator(
    net::Network& network, Broker& broker, std::string group, Body body
) {
    const net::Address address = LKS_CO_TRY(co_await find_coordinator(broker, std::move(group)));
    co_return co_await with_broker(network, address.to_string(), std::move(body));
}

/// Joins, takes part in assigning one topic's partitions by range, heartbeats. Lives on the
/// coordinator's executor; `close` before it is dropped.
class GroupMember {
  public:
    GroupMember(Broker& coordinator, std::string group, std::string topic);
    GroupMember(const GroupMember&) = delete;
    GroupMember& operator=(const GroupMember&) = delete;

    /// Join, or join again after `is_stale`: the partitions that are mine now. `partitions`: how
    /// many the topic has.
    rt::Task<Result<std::vector<std::int32_t>>> join(std::int32_t partitions);

    /// Whether the assignment is over: join again.
    bool is_stale() const { return stale_; }

    /// Next offsets by partition. Errors: `conflict` when the assignment is over (nothing was
    /// committed).
    rt::Task<Status> commit(std::map<std::int32_t, Offset> next);

    /// Leave the group and end. Our id, if the group could not be told; empty else.
    rt::Task<std::string> close();

  private:
    rt::Task<Status> join_once(std::int32_t partitions);
    rt::Task<void> heartbeat();
    /// Whether to join again: others came or went, or we were forgotten.
    bool must_rejoin(codec::kafka::ErrorCode code);

    Broker& coordinator_;
    const std::string group_;
    const std::string topic_;
    std::string member_id_;
    std::int32_t generation_ = -1;
    std::vector<std::int32_t> assigned_;
    bool joined_ = false;
    bool stale_ = false;
    rt::TaskScope scope_;
};

}  // namespace lakestream::cli
