// SPDX-License-Identifier: Apache-2.0
// DescribeTopicPartitions: topics and their partitions, page by page.
#pragma once

#include "codec/kafka/gen/describe_topic_partitions.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct DescribeTopicPartitionsHandler {
    using Request = codec::kafka::DescribeTopicPartitionsRequest;
    using Response = codec::kafka::DescribeTopicPartitionsResponse;
    static constexpr codec::kafka::VersionRange versions{0, 0};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
