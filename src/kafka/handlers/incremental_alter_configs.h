// SPDX-License-Identifier: Apache-2.0
// IncrementalAlterConfigs: set, delete, append to and subtract from configurations of topics.
#pragma once

#include "codec/kafka/gen/incremental_alter_configs.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct IncrementalAlterConfigsHandler {
    using Request = codec::kafka::IncrementalAlterConfigsRequest;
    using Response = codec::kafka::IncrementalAlterConfigsResponse;
    static constexpr codec::kafka::VersionRange versions{0, 1};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
