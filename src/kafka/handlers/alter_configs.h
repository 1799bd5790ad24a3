// SPDX-License-Identifier: Apache-2.0
// AlterConfigs: replace all configurations of topics.
#pragma once

#include "codec/kafka/gen/alter_configs.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct AlterConfigsHandler {
    using Request = codec::kafka::AlterConfigsRequest;
    using Response = codec::kafka::AlterConfigsResponse;
    static constexpr codec::kafka::VersionRange versions{0, 2};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
