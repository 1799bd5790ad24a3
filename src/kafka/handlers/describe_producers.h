// SPDX-License-Identifier: Apache-2.0
// DescribeProducers: the idempotent producers that partitions remember.
#pragma once

#include "codec/kafka/gen/describe_producers.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct DescribeProducersHandler {
    using Request = codec::kafka::DescribeProducersRequest;
    using Response = codec::kafka::DescribeProducersResponse;
    static constexpr codec::kafka::VersionRange versions{0, 0};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    /// Counts what the response will hold in `grant`, which lives until it is written.
    static rt::Task<Response> handle(Call call, Request request, ResponseMemory::Grant& grant);
};

}  // namespace lakestream::kafka
