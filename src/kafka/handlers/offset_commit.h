// SPDX-License-Identifier: Apache-2.0
// OffsetCommit: keeps how far a group has read.
#pragma once

#include "codec/kafka/gen/offset_commit.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"
#include "kafka/handlers/handler.h"

namespace lakestream::kafka {

struct OffsetCommitHandler {
    using Request = codec::kafka::OffsetCommitRequest;
    using Response = codec::kafka::OffsetCommitResponse;
    static constexpr codec::kafka::VersionRange versions{2, 10};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return 4 * frame_bytes + 4096; }
    static rt::Task<Begun<Response>> begin(Call call, Request request);
};

}  // namespace lakestream::kafka
