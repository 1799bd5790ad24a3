// SPDX-License-Identifier: Apache-2.0
// DescribeLogDirs: how much every partition holds.
#pragma once

#include "codec/kafka/gen/describe_log_dirs.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct DescribeLogDirsHandler {
    using Request = codec::kafka::DescribeLogDirsRequest;
    using Response = codec::kafka::DescribeLogDirsResponse;
    static constexpr codec::kafka::VersionRange versions{1, 5};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    /// Counts what the response will hold in `grant`, which lives until it is written.
    static rt::Task<Response> handle(Call call, Request request, ResponseMemory::Grant& grant);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
