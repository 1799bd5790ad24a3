// SPDX-License-Identifier: Apache-2.0
// DeleteRecords: a partition starts later from now on.
#pragma once

#include "codec/kafka/gen/delete_records.h"
#include "kafka/dispatch.h"

namespace lakestream::kafka {

struct DeleteRecordsHandler {
    using Request = codec::kafka::DeleteRecordsRequest;
    using Response = codec::kafka::DeleteRecordsResponse;
    static constexpr codec::kafka::VersionRange versions{0, 2};

    static std::uint64_t memory(std::uint64_t frame_bytes) { return frame_bytes * 8 + 4096; }
    static rt::Task<Response> handle(Call call, Request request);
};

}  // namespace lakestream::kafka
