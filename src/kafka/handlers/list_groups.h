// SPDX-License-Identifier: Apache-2.0
// ListGroups: all groups of the cluster, filtered.
#pragma once

#include <optional>

#include "codec/kafka/gen/list_groups.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct ListGroupsHandler {
    using Request = codec::kafka::ListGroupsRequest;
    using Response = codec::kafka::ListGroupsResponse;
    static constexpr codec::kafka::VersionRange versions{0, 5};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return 4 * frame_bytes + 4096; }
    /// Counts what the response will hold in `grant`, which lives until it is written.
    static rt::Task<Response> handle(Call call, Request request, ResponseMemory::Grant& grant);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
