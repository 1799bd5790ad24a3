// SPDX-License-Identifier: Apache-2.0
// JoinGroup: waits until all members of the group have come.
#pragma once

#include <optional>

#include "codec/kafka/gen/join_group.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

struct JoinGroupHandler {
    using Request = codec::kafka::JoinGroupRequest;
    using Response = codec::kafka::JoinGroupResponse;
    static constexpr codec::kafka::VersionRange versions{0, 9};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return 4 * frame_bytes + 4096; }
    static rt::Task<Begun<Response>> begin(Call call, Request request);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
