// SPDX-License-Identifier: Apache-2.0
// ElectLeaders: every broker leads every partition already.
#pragma once

#include "codec/kafka/gen/elect_leaders.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct ElectLeadersHandler {
    using Request = codec::kafka::ElectLeadersRequest;
    using Response = codec::kafka::ElectLeadersResponse;
    static constexpr codec::kafka::VersionRange versions{0, 2};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
