// SPDX-License-Identifier: Apache-2.0
// Which broker coordinates a group: every broker gives the same answer from the same members.
#pragma once

#include <string_view>

#include "base/assert.h"
#include "base/format.h"
#include "kafka/cluster.h"
#include "meta/shard_router.h"

namespace lakestream::kafka::groups {

/// By rendezvous hashing: when a broker comes or goes, only its own groups move. Locality, not
/// safety: two brokers that disagree fence each other (docs/protocols/groups.md). Precondition: the
/// cluster has a broker.
inline const BrokerIdentity& coordinator_of(const Cluster& cluster, std::string_view group) {
    LKS_ASSERT(!cluster.brokers.empty());
    const BrokerIdentity* chosen = nullptr;
    std::uint32_t highest = 0;
    for (const BrokerIdentity& broker : cluster.brokers) {
        const std::uint32_t weight = meta::key_hash(fmt::format("{}/{}", broker.id, group));
        if (chosen == nullptr || weight > highest) {
            chosen = &broker;
            highest = weight;
        }
    }
    return *chosen;
}

}  // namespace lakestream::kafka::groups
