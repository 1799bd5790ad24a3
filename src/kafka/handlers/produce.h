// SPDX-License-Identifier: Apache-2.0
// Produce: one partition of one request becomes one entry, its bytes unchanged.
#pragma once

#include "codec/kafka/gen/produce.h"
#include "kafka/dispatch.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

struct ProduceHandler {
    using Request = codec::kafka::ProduceRequest;
    using Response = codec::kafka::ProduceResponse;
    static constexpr codec::kafka::VersionRange versions{3, 13};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes + 4096; }
    /// Checks and submits; the rest waits until the entries are durable, whatever acks says. The
    /// order of requests is the order of entries.
    static rt::Task<Begun<Response>> begin(Call call, Request request);
};

}  // namespace lakestream::kafka
