// SPDX-License-Identifier: Apache-2.0
// Settings of cleaning and retention.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace lakestream::clean {

struct CleanSettings {
    bool enabled = true;
    Duration interval = 5min;  // between two passes
    /// What nobody refers to is deleted when this has been so for at least as long.
    Duration readers_grace = 1min;
    /// Age, by the metadata store's clock, from which on a WAL object that no index record refers
    /// to never will be. The rule of last resort: what a log's later records prove needs no age.
    Duration unreferenced_age = 24h;
    std::size_t objects_per_pass = 20'000;
    Duration retention_interval = 5min;                    // between two looks at what has expired
    Duration retention_time = std::chrono::hours(7 * 24);  // of topics that do not say
    std::int64_t retention_bytes = -1;                     // of each partition; -1: no limit
    std::string ns = "default";
};

}  // namespace lakestream::clean
