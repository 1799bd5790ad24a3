// SPDX-License-Identifier: Apache-2.0
// DeleteGroups: groups without members go, with their offsets.
#pragma once

#include "codec/kafka/gen/delete_groups.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

struct DeleteGroupsHandler {
    using Request = codec::kafka::DeleteGroupsRequest;
    using Response = codec::kafka::DeleteGroupsResponse;
    static constexpr codec::kafka::VersionRange versions{0, 3};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return 4 * frame_bytes + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
