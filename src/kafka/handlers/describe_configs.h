// SPDX-License-Identifier: Apache-2.0
// DescribeConfigs: every configuration of topics and of this broker.
#pragma once

#include "codec/kafka/gen/describe_configs.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct DescribeConfigsHandler {
    using Request = codec::kafka::DescribeConfigsRequest;
    using Response = codec::kafka::DescribeConfigsResponse;
    static constexpr codec::kafka::VersionRange versions{1, 4};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    /// Counts what the response will hold in `grant`, which lives until it is written.
    static rt::Task<Response> handle(Call call, Request request, ResponseMemory::Grant& grant);
};

}  // namespace lakestream::kafka
