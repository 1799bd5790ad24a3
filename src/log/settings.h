// SPDX-License-Identifier: Apache-2.0
// Settings of the log engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace lakestream::log {

struct EngineSettings {
    std::uint64_t object_bytes_max = 16
                                     << 20;  // payload of one WAL object, but for one large entry
    std::size_t uploads_max = 4;             // objects being stored at once
    /// While objects are on their way, or their clients were answered a moment ago, the next one is
    /// cut at so many bytes or after so long: where puts are quick a busy node makes fewer and
    /// larger objects, where they are slow nobody notices.
    std::uint64_t gather_bytes = 4 << 20;
    Duration gather_wait_max = 10ms;
    std::size_t objects_waiting_max = 32;           // sealed and not yet published
    std::size_t publish_puts_max = 10'000;          // index puts of one shard batch
    std::uint64_t publish_bytes_max = 4 << 20;      // bytes of one shard batch
    Duration linger = Duration(0);                  // wait before sealing, to make objects larger
    std::uint64_t append_bytes_max = 64 << 20;      // entries not yet answered, all logs
    std::uint64_t tail_cache_bytes_max = 32 << 20;  // recent entries in memory, all logs
    std::uint64_t section_cache_bytes_max = 16 << 20;  // sections read from objects, all shards
    std::uint64_t section_read_bytes_max = 64 << 20;   // on their way from objects, all shards
    std::size_t header_cache_objects_max = 1024;       // index blocks of objects, per shard
    std::size_t snapshot_records = 1000;               // index records folded between two snapshots
    Duration store_failure_patience = 2s;              // a full disk fails appends after this
    Duration backoff_min = 20ms;
    Duration backoff_max = 2s;
    Duration damage_patience = 5s;  // a missing object is looked for this long
    /// Other nodes append to the same logs: follow the store's notifications.
    bool shared_metadata = false;
};

}  // namespace lakestream::log
