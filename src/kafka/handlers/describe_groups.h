// SPDX-License-Identifier: Apache-2.0
// DescribeGroups: states, members and assignments.
#pragma once

#include "codec/kafka/gen/describe_groups.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct DescribeGroupsHandler {
    using Request = codec::kafka::DescribeGroupsRequest;
    using Response = codec::kafka::DescribeGroupsResponse;
    static constexpr codec::kafka::VersionRange versions{0, 6};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return 4 * frame_bytes + 4096; }
    /// Counts what the response will hold in `grant`, which lives until it is written.
    static rt::Task<Response> handle(Call call, Request request, ResponseMemory::Grant& grant);
};

}  // namespace lakestream::kafka
