// SPDX-License-Identifier: Apache-2.0
// ListConfigResources: what has configurations.
#pragma once

#include "codec/kafka/gen/list_config_resources.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct ListConfigResourcesHandler {
    using Request = codec::kafka::ListConfigResourcesRequest;
    using Response = codec::kafka::ListConfigResourcesResponse;
    static constexpr codec::kafka::VersionRange versions{0, 1};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
