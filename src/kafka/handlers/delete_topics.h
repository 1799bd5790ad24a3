// SPDX-License-Identifier: Apache-2.0
// DeleteTopics: by name, and by id from version 6.
#pragma once

#include "codec/kafka/gen/delete_topics.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct DeleteTopicsHandler {
    using Request = codec::kafka::DeleteTopicsRequest;
    using Response = codec::kafka::DeleteTopicsResponse;
    static constexpr codec::kafka::VersionRange versions{1, 6};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
