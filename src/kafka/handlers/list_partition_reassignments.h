// SPDX-License-Identifier: Apache-2.0
// ListPartitionReassignments: none, ever: brokers own no partitions.
#pragma once

#include "codec/kafka/gen/list_partition_reassignments.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct ListPartitionReassignmentsHandler {
    using Request = codec::kafka::ListPartitionReassignmentsRequest;
    using Response = codec::kafka::ListPartitionReassignmentsResponse;
    static constexpr codec::kafka::VersionRange versions{0, 0};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
