// SPDX-License-Identifier: Apache-2.0
// CreateTopics: new streams in the topics' namespace.
#pragma once

#include "codec/kafka/gen/create_topics.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct CreateTopicsHandler {
    using Request = codec::kafka::CreateTopicsRequest;
    using Response = codec::kafka::CreateTopicsResponse;
    static constexpr codec::kafka::VersionRange versions{2, 7};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
