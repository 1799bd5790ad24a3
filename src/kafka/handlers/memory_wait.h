// SPDX-License-Identifier: Apache-2.0
// Waiting until a large response may be made.
#pragma once

#include <algorithm>
#include <chrono>

#include "kafka/dispatch.h"

namespace lakestream::kafka {

inline constexpr auto memory_patience = std::chrono::seconds(5);
inline constexpr auto memory_look = std::chrono::milliseconds(500);

/// No: responses that clients do not take hold all there is, for longer than is worth waiting.
inline rt::Task<bool> wait_for_memory(Call call) {
    ResponseMemory& memory = call.shard.response_memory;
    const MonoTime end = call.shard.executor.now() + memory_patience;
    while (memory.full()) {
        const MonoTime now = call.shard.executor.now();
        if (now >= end || call.shard.stopping) {
            co_return false;
        }
        call.shard.cut_off_slow();
        co_await memory.freed().wait(std::min<MonoTime>(end, now + memory_look));
    }
    co_return true;
}

}  // namespace lakestream::kafka
