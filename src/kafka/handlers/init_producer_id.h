// SPDX-License-Identifier: Apache-2.0
// InitProducerId: an id and an epoch for an idempotent producer (KIP-98, KIP-360).
#pragma once

#include "codec/kafka/gen/init_producer_id.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct InitProducerIdHandler {
    using Request = codec::kafka::InitProducerIdRequest;
    using Response = codec::kafka::InitProducerIdResponse;
    static constexpr codec::kafka::VersionRange versions{0, 5};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes + 1024; }
    static rt::Task<Response> handle(Call call, Request request);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
