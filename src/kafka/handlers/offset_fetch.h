// SPDX-License-Identifier: Apache-2.0
// OffsetFetch: how far groups have read.
#pragma once

#include "codec/kafka/gen/offset_fetch.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

struct OffsetFetchHandler {
    using Request = codec::kafka::OffsetFetchRequest;
    using Response = codec::kafka::OffsetFetchResponse;
    static constexpr codec::kafka::VersionRange versions{1, 10};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return 4 * frame_bytes + 4096; }
    static rt::Task<Begun<Response>> begin(Call call, Request request);
};

}  // namespace lakestream::kafka
