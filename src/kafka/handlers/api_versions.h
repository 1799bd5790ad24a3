// SPDX-License-Identifier: Apache-2.0
// ApiVersions: what this broker speaks (KIP-35, KIP-511).
#pragma once

#include "codec/kafka/gen/api_versions.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct ApiVersionsHandler {
    using Request = codec::kafka::ApiVersionsRequest;
    using Response = codec::kafka::ApiVersionsResponse;
    static constexpr codec::kafka::VersionRange versions{0, 5};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);

    /// The answer to a version newer than ours: in version 0, which every client can read.
    static Reply unknown_version(const Call& call);
};

}  // namespace lakestream::kafka
