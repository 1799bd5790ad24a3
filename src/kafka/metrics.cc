// SPDX-License-Identifier: Apache-2.0
// Registration of the Kafka server's metrics.
#include "kafka/metrics.h"

#include <chrono>
#include <string>

#include "kafka/dispatch.h"

namespace lakestream::kafka {

namespace {

std::string api_name(codec::kafka::ApiKey api) {
    return std::string(codec::kafka::find_api(static_cast<std::int16_t>(api))->name);
}

}  // namespace

Metrics::Metrics(metrics::Registry& registry) : registry_(registry) {
    registry.add("lakestream_kafka_connections", "Open connections.", connections);
    registry.add(
        "lakestream_kafka_connections_accepted_total", "Connections served.", connections_accepted
    );
    registry.add(
        "lakestream_kafka_connections_refused_total",
        "Connections closed because there were too many.",
        connections_refused
    );
    registry.add("lakestream_kafka_received_bytes_total", "Bytes of requests.", bytes_in);
    registry.add("lakestream_kafka_sent_bytes_total", "Bytes of responses.", bytes_out);
    registry.add(
        "lakestream_kafka_requests_waited_total",
        "Requests that had to wait for memory before they were read.",
        requests_waited
    );
    registry.add(
        "lakestream_kafka_requests_refused_total",
        "Requests that were malformed, too large or not served.",
        requests_refused
    );
    registry.add("lakestream_kafka_request_bytes", "Bytes of admitted requests.", request_bytes);
    for (const Api& api : served_apis()) {
        const auto key = static_cast<std::size_t>(api.key);
        if (apis_.size() <= key) {
            apis_.resize(key + 1);
        }
        apis_[key] = std::make_unique<OfApi>();
        const metrics::Labels labels{{"api", api_name(api.key)}};
        registry.add("lakestream_kafka_requests_total", "Requests.", apis_[key]->requests, labels);
        registry.add(
            "lakestream_kafka_request_seconds",
            "From the first byte of a request to its answer.",
            apis_[key]->latency,
            labels
        );
    }
}

Metrics::~Metrics() {
    const auto forget = [&](const auto&... metrics) { (registry_.remove(&metrics), ...); };
    forget(connections, connections_accepted, connections_refused, bytes_in, bytes_out);
    forget(requests_waited, requests_refused, request_bytes);
    for (const auto& api : apis_) {
        if (api != nullptr) {
            forget(api->requests, api->latency);
            for (const metrics::Counter& error : api->by_error) {
                registry_.remove(&error);
            }
        }
    }
}

void Metrics::count_request(codec::kafka::ApiKey api) {
    of(api).requests.add();
}

void Metrics::count_error(codec::kafka::ApiKey api, KafkaError error) {
    OfApi& metrics = of(api);
    const auto i = static_cast<std::size_t>(static_cast<int>(error) + 1) % errors;
    if (!metrics.registered[i].exchange(true)) {
        registry_.add(
            "lakestream_kafka_errors_total",
            "Errors answered: one for each request, topic or partition that failed.",
            metrics.by_error[i],
            {{"api", api_name(api)}, {"error", std::string(codec::kafka::to_string(error))}}
        );
    }
    metrics.by_error[i].add();
}

void Metrics::observe_latency(codec::kafka::ApiKey api, Duration latency) {
    of(api).latency.observe(std::chrono::duration<double>(latency).count());
}

}  // namespace lakestream::kafka
