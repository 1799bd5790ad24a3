// SPDX-License-Identifier: Apache-2.0
// Knobs: everything about a simulated world that its seed decides, from tiny to huge (swarm).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "clean/settings.h"
#include "compact/compactor.h"
#include "kafka/options.h"
#include "log/settings.h"
#include "meta/testing/faulty_metadata.h"
#include "net/sim/network.h"
#include "objstore/testing/faulty_store.h"
#include "rt/rng.h"

namespace lakestream::sim {

/// What the clients do.
struct WorkloadKnobs {
    std::size_t topics = 1;
    std::size_t partitions = 1;    // of each topic
    std::size_t producers = 1;     // idempotent, each with a lane to some partitions
    std::size_t plain = 0;         // producers without idempotence
    std::size_t consumers = 1;     // from offset 0 to the end
    std::size_t rereaders = 0;     // from random offsets
    std::size_t time_seekers = 0;  // ListOffsets
    std::size_t trimmers = 0;      // DeleteRecords
    std::size_t churners = 0;      // create, write, read, delete, again
    std::size_t groups = 0;
    std::size_t members = 0;  // of each group
    std::size_t lane_batches = 60;
    std::size_t in_flight = 5;
    std::size_t records_max = 5;  // of a batch
    std::size_t value_bytes_max = 100;
    Duration think_max = 500ms;  // between two batches of a lane
};

/// What happens to the nodes. An interval of zero: never.
struct NemesisKnobs {
    std::uint64_t crash_steps = 0;  // of the loop, between two crashes
    Duration down_max = 10s;
    Duration restart_every{0};  // SIGTERM
    Duration drain_max = 5s;
    Duration pause_every{0};  // SIGSTOP
    Duration pause_max = 10s;
    Duration cut_every{0};  // from the network
    Duration cut_max = 10s;
    Duration reset_every{0};  // of all connections of a node
    Duration storm_every{0};  // of faults of a node's stores
    Duration storm_max = 10s;
    Duration full_every{0};  // a node's disks: objects, metadata, scratch
    Duration skew_every{0};  // a node's wall clock jumps
    Duration skew_max = 5s;
};

struct Knobs {
    std::uint64_t seed = 1;
    std::size_t nodes = 1;
    std::size_t shards = 1;  // of each node
    std::size_t metadata_shards = 1;
    Duration chaos = 60s;                 // virtual time
    std::uint64_t chaos_steps = 250'000;  // or so many steps of the loop, if they come first
    net::SimWiresOptions wires;
    log::EngineSettings log;
    kafka::ServerOptions kafka;
    bool compaction = false;  // nodes have the compactor's role, topics have tables
    compact::CompactorSettings compact;
    bool cleaning = false;  // with compaction only
    clean::CleanSettings clean;
    objstore::FaultOptions objects;        // always on
    objstore::FaultOptions objects_storm;  // while a storm lasts
    meta::testing::MetadataFaults metadata;
    meta::testing::MetadataFaults metadata_storm;
    WorkloadKnobs workload;
    NemesisKnobs nemeses;
};

/// One of the values, all alike likely.
template <class T>
T pick(rt::Rng& rng, std::initializer_list<T> values) {
    return values.begin()[rng.below(values.size())];
}

/// A time in [0, max].
inline Duration up_to(rt::Rng& rng, Duration max) {
    return Duration(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(max.count()) + 1)
    ));
}

/// One world of a scenario. Same arguments, same knobs.
Knobs draw_knobs(std::string_view scenario, std::uint64_t seed);

/// The knobs in a few lines, for whoever reads a failing run.
std::string describe(const Knobs& knobs);

/// What scenarios there are, and what each is about.
struct ScenarioName {
    std::string_view name;
    std::string_view about;
    bool only_when_asked = false;
};
std::vector<ScenarioName> scenario_names();

}  // namespace lakestream::sim
