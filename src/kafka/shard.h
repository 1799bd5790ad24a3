// SPDX-License-Identifier: Apache-2.0
// Shard: what the requests of one executor work with.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "catalog/catalog.h"
#include "kafka/broker_configs.h"
#include "kafka/cluster.h"
#include "kafka/fetch_sessions.h"
#include "kafka/metrics.h"
#include "kafka/options.h"
#include "kafka/producer_ids.h"
#include "kafka/request_memory.h"
#include "kafka/response_memory.h"
#include "kafka/time_search.h"
#include "log/engine.h"
#include "meta/metadata_store.h"
#include "rt/executor.h"
#include "rt/memory.h"
#include "rt/offload.h"
#include "rt/semaphore.h"

namespace lakestream::kafka {

namespace groups {
class Groups;
}

/// Everything outside that the server uses. All of it outlives the server.
struct Backend {
    log::Engine& engine;
    rt::Offloader& offloader;
    catalog::Catalog& catalog;
    meta::MetadataStore& metadata;
    const Cluster& cluster;
    Metrics& metrics;
    std::span<const BrokerConfig> settings = {};  // of the broker
};

/// Belongs to the server, outlives the shard's connections, is used on its executor only.
struct Shard {
    Shard(
        rt::Executor& runs_on,
        const Backend& outside,
        const ServerOptions& settings,
        groups::Groups& all_groups,
        FetchSessions::Slot slot
    )
        : executor(runs_on),
          backend(outside),
          options(settings),
          groups(all_groups),
          request_memory(
              settings.shard.request_bytes,
              outside.metrics.requests_waited,
              outside.metrics.request_bytes
          ),
          response_memory(
              settings.shard.response_bytes,
              settings.shard.fetch_bytes_floor,
              outside.metrics.response_bytes
          ),
          recompressed_memory("recompressed", settings.shard.recompressed_bytes),
          time_search(outside.engine, outside.offloader),
          fetch_sessions(
              {.sessions_max = settings.shard.fetch_sessions_max,
               .partitions_max = settings.shard.fetch_session_partitions_max,
               .age_min = settings.shard.fetch_session_age_min},
              slot
          ),
          producer_ids(outside.catalog, settings.broker.producer_ids_block) {}
    Shard(const Shard&) = delete;
    Shard& operator=(const Shard&) = delete;

    rt::Executor& executor;
    const Backend backend;
    const ServerOptions& options;
    groups::Groups& groups;
    RequestMemory request_memory;
    ResponseMemory response_memory;
    rt::MemoryAccount recompressed_memory;
    TimeSearch time_search;
    FetchSessions fetch_sessions;
    ProducerIds producer_ids;
    rt::Semaphore listing_groups{1};
    /// Hangs up on clients that have been too slow to take an answer. Set by the server.
    std::function<void()> cut_off_slow = [] {};
    bool stopping = false;  // long polls end soon
};

/// Who is on the other side of a connection.
struct Peer {
    net::Address address;
    std::string listener;                 // by which it came in
    std::string principal = "ANONYMOUS";  // until it has authenticated
    std::string client_id;                // of its newest request
    std::string software_name;            // as it said in ApiVersions
    std::string software_version;
};

}  // namespace lakestream::kafka
