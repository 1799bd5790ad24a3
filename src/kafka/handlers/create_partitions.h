// SPDX-License-Identifier: Apache-2.0
// CreatePartitions: more partitions for topics.
#pragma once

#include "codec/kafka/gen/create_partitions.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct CreatePartitionsHandler {
    using Request = codec::kafka::CreatePartitionsRequest;
    using Response = codec::kafka::CreatePartitionsResponse;
    static constexpr codec::kafka::VersionRange versions{0, 3};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
