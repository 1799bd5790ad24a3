// SPDX-License-Identifier: Apache-2.0
// Heartbeat: a member lives, and hears of rebalances.
#pragma once

#include <optional>

#include "codec/kafka/gen/heartbeat.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

struct HeartbeatHandler {
    using Request = codec::kafka::HeartbeatRequest;
    using Response = codec::kafka::HeartbeatResponse;
    static constexpr codec::kafka::VersionRange versions{0, 4};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return 4 * frame_bytes + 4096; }
    static rt::Task<Begun<Response>> begin(Call call, Request request);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
