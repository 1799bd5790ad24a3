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

Metrics::Metrics(metrics::Registry& registry) : groups(registry), registrations_(registry) {
    metrics::Registrations& out = registrations_;
    out.add("lakestream_kafka_connections", "Open connections.", connections);
    out.add(
        "lakestream_kafka_connections_accepted_total", "Connections served.", connections_accepted
    );
    out.add(
        "lakestream_kafka_connections_refused_total",
        "Connections closed because there were too many.",
        connections_refused
    );
    out.add("lakestream_kafka_received_bytes_total", "Bytes of requests.", bytes_in);
    out.add("lakestream_kafka_sent_bytes_total", "Bytes of responses.", bytes_out);
    out.add(
        "lakestream_kafka_requests_waited_total",
        "Requests that had to wait for memory before they were read.",
        requests_waited
    );
    out.add(
        "lakestream_kafka_requests_refused_total",
        "Requests that were malformed, too large or not served.",
        requests_refused
    );
    out.add("lakestream_kafka_request_bytes", "Bytes of admitted requests.", request_bytes);
    out.add(
        "lakestream_kafka_response_bytes",
        "Bytes of fetched records in responses that are not sent yet.",
        response_bytes
    );
    out.add(
        "lakestream_kafka_requests_running",
        "Requests that were read and are not answered, long polls included.",
        requests_running
    );
    for (const Api& api : served_apis()) {
        const auto key = static_cast<std::size_t>(api.key);
        if (apis_.size() <= key) {
            apis_.resize(key + 1);
        }
        apis_[key] = std::make_unique<OfApi>();
        const metrics::Labels labels{{"api", api_name(api.key)}};
        out.add("lakestream_kafka_requests_total", "Requests.", apis_[key]->requests, labels);
        out.add(
            "lakestream_kafka_request_seconds",
            "From the first byte of a request to its answer.",
            apis_[key]->latency,
            labels
        );
    }
    out.collect(
        "lakestream_kafka_errors_total",
        "Errors answered: one for each request, topic or partition that failed.",
        metrics::Entry::Kind::counter,
        {"api", "error"},
        [this] { return errors_now(); }
    );
}

std::vector<metrics::Sample> Metrics::errors_now() const {
    std::vector<metrics::Sample> samples;
    for (std::size_t key = 0; key < apis_.size(); ++key) {
        for (std::size_t i = 0; apis_[key] != nullptr && i < errors; ++i) {
            const std::uint64_t count = apis_[key]->by_error[i].value();
            if (count > 0) {
                const auto error = static_cast<KafkaError>(static_cast<int>(i) - 1);
                samples.push_back({
                    .labels =
                        {{"api", api_name(static_cast<codec::kafka::ApiKey>(key))},
                         {"error", std::string(codec::kafka::to_string(error))}},
                    .value = static_cast<double>(count),
                });
            }
        }
    }
    return samples;
}

void Metrics::count_request(codec::kafka::ApiKey api) {
    of(api).requests.add();
}

void Metrics::count_error(codec::kafka::ApiKey api, KafkaError error) {
    const auto i = static_cast<std::size_t>(static_cast<int>(error) + 1) % errors;
    of(api).by_error[i].add();
}

void Metrics::observe_latency(codec::kafka::ApiKey api, Duration latency) {
    of(api).latency.observe(std::chrono::duration<double>(latency).count());
}

}  // namespace lakestream::kafka
