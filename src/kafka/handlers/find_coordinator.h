// SPDX-License-Identifier: Apache-2.0
// FindCoordinator: where the coordinator of a group is.
#pragma once

#include "codec/kafka/gen/find_coordinator.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct FindCoordinatorHandler {
    using Request = codec::kafka::FindCoordinatorRequest;
    using Response = codec::kafka::FindCoordinatorResponse;
    static constexpr codec::kafka::VersionRange versions{0, 6};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return 4 * frame_bytes + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
