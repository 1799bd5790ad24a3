// SPDX-License-Identifier: Apache-2.0
// DescribeCluster: the brokers, and what the client may do.
#pragma once

#include "codec/kafka/gen/describe_cluster.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct DescribeClusterHandler {
    using Request = codec::kafka::DescribeClusterRequest;
    using Response = codec::kafka::DescribeClusterResponse;
    static constexpr codec::kafka::VersionRange versions{0, 2};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
