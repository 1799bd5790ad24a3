// SPDX-License-Identifier: Apache-2.0
// Fetch: records, at once or when there are enough of them.
#pragma once

#include "codec/kafka/gen/fetch.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct FetchHandler {
    using Request = codec::kafka::FetchRequest;
    using Response = codec::kafka::FetchResponse;
    static constexpr codec::kafka::VersionRange versions{4, 18};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    /// Counts what the response will hold in `grant`, which lives until it is written.
    static rt::Task<Response> handle(Call call, Request request, ResponseMemory::Grant& grant);
    static std::optional<Response> refused(KafkaError error, std::int16_t version);
};

}  // namespace lakestream::kafka
