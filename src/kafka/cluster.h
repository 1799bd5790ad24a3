// SPDX-License-Identifier: Apache-2.0
// Cluster: the brokers that clients are told about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/net.h"

namespace lakestream::kafka {

/// One broker, at the address its clients connect to.
struct BrokerIdentity {
    std::int32_t id = 0;
    net::Address address;
    std::optional<std::string> rack;
};

/// Any broker serves any partition, so each names itself the leader of all (locality is the
/// client's choice of broker). Immutable while the server runs.
struct Cluster {
    std::string id;
    std::int32_t self = 0;
    std::vector<BrokerIdentity> brokers;
    /// The membership generation: it rises whenever leaders may move.
    std::int32_t leader_epoch = 0;
};

}  // namespace lakestream::kafka
