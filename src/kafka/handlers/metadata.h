// SPDX-License-Identifier: Apache-2.0
// Metadata: brokers, topics and their partitions.
#pragma once

#include "codec/kafka/gen/metadata.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct MetadataHandler {
    using Request = codec::kafka::MetadataRequest;
    using Response = codec::kafka::MetadataResponse;
    static constexpr codec::kafka::VersionRange versions{0, 13};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
