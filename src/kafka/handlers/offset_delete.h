// SPDX-License-Identifier: Apache-2.0
// OffsetDelete: forgets offsets of topics that the group does not read.
#pragma once

#include <optional>

#include "codec/kafka/gen/offset_delete.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct OffsetDeleteHandler {
    using Request = codec::kafka::OffsetDeleteRequest;
    using Response = codec::kafka::OffsetDeleteResponse;
    static constexpr codec::kafka::VersionRange versions{0, 0};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return 4 * frame_bytes + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
