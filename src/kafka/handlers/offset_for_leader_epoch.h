// SPDX-License-Identifier: Apache-2.0
// OffsetForLeaderEpoch: where the records of an epoch end.
#pragma once

#include "codec/kafka/gen/offset_for_leader_epoch.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct OffsetForLeaderEpochHandler {
    using Request = codec::kafka::OffsetForLeaderEpochRequest;
    using Response = codec::kafka::OffsetForLeaderEpochResponse;
    static constexpr codec::kafka::VersionRange versions{2, 4};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
