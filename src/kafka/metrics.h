// SPDX-License-Identifier: Apache-2.0
// Metrics of the Kafka server: connections, bytes, and requests, errors and latency by API.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/metrics.h"
#include "base/time.h"
#include "codec/kafka/gen/api_keys.h"
#include "kafka/error_map.h"
#include "kafka/groups/metrics.h"

namespace lakestream::kafka {

/// Of all shards together; thread-safe. The registry outlives it.
class Metrics {
  public:
    explicit Metrics(metrics::Registry& registry);
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    /// Only for APIs that are served.
    void count_request(codec::kafka::ApiKey api);
    void count_error(codec::kafka::ApiKey api, KafkaError error);
    void observe_latency(codec::kafka::ApiKey api, Duration latency);

    metrics::Gauge connections;
    metrics::Counter connections_accepted;
    metrics::Counter connections_refused;
    metrics::Counter bytes_in;
    metrics::Counter bytes_out;
    metrics::Counter requests_waited;   // for the shard's request memory
    metrics::Counter requests_refused;  // malformed, too large or not served
    metrics::Gauge request_bytes;       // admitted now
    metrics::Gauge response_bytes;      // of responses being made and sent
    metrics::Gauge requests_running;    // read and not answered yet
    groups::Metrics groups;

  private:
    static constexpr std::size_t errors = 256;  // codes -1 .. 254; Kafka has 138

    struct OfApi {
        metrics::Counter requests;
        metrics::Histogram latency{metrics::latency_bounds};
        std::array<metrics::Counter, errors> by_error;  // listed when it has happened
    };

    OfApi& of(codec::kafka::ApiKey api) { return *apis_[static_cast<std::size_t>(api)]; }

    std::vector<metrics::Sample> errors_now() const;

    std::vector<std::unique_ptr<OfApi>> apis_;  // by key; null for those not served
    metrics::Registrations registrations_;
};

}  // namespace lakestream::kafka
