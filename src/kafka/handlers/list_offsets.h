// SPDX-License-Identifier: Apache-2.0
// ListOffsets: the ends of logs, and records by their timestamp.
#pragma once

#include "codec/kafka/gen/list_offsets.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct ListOffsetsHandler {
    using Request = codec::kafka::ListOffsetsRequest;
    using Response = codec::kafka::ListOffsetsResponse;
    static constexpr codec::kafka::VersionRange versions{1, 11};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
