// SPDX-License-Identifier: Apache-2.0
// Dispatch: which APIs are served, in which versions, by which handler.
#pragma once

#include <cstdint>
#include <span>

#include "base/slices.h"
#include "base/time.h"
#include "codec/kafka/gen/api_keys.h"
#include "codec/kafka/version_range.h"
#include "kafka/response_memory.h"
#include "kafka/shard.h"
#include "lakestream/bytes.h"
#include "rt/task.h"

namespace lakestream::kafka {

/// One request being served. Small: copied into the coroutines that serve it. What it refers to
/// outlives them.
struct Call {
    Shard& shard;
    Peer& peer;
    codec::kafka::ApiKey api;
    std::int16_t version;
    std::int32_t correlation_id;
    MonoTime arrived;  // its first byte
    WallTime arrived_wall;
    std::uint64_t frame_bytes;
};

/// What goes back: one frame, or the end of the connection.
struct Reply {
    enum class Then : std::uint8_t { go_on, close };

    Slices frame;  // with its size in front
    ResponseMemory::Grant held;
    Then then = Then::go_on;
};

enum class Answered : bool { no, yes };

/// A request that has begun.
struct Started {
    rt::Task<Reply> rest;
    /// `no`: the client waits for no response (acks=0), and responses of later requests do not wait
    /// for this one.
    Answered answered = Answered::yes;
};

/// One served API. **`start` orders, `rest` completes**: `start` runs to its end before the
/// connection's next request starts, so what it submits keeps the order of the requests.
struct Api {
    codec::kafka::ApiKey key;
    codec::kafka::VersionRange versions;  // served
    std::int16_t advertised_min;          // may be lower: see docs/kafka-compatibility.md
    /// Bytes to admit for a frame of this size, before it is read.
    std::uint64_t (*memory)(std::uint64_t frame_bytes);
    rt::Task<Started> (*start)(Call call, Bytes frame);
};

/// By ascending key.
std::span<const Api> served_apis() noexcept;

/// Null if it is not served.
const Api* find_served(std::int16_t key) noexcept;

}  // namespace lakestream::kafka
