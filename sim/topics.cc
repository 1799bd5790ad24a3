// SPDX-License-Identifier: Apache-2.0
// CreateTopics, Metadata, DeleteTopics until they are answered; changes in between.
#include "sim/topics.h"

#include <algorithm>

#include "base/format.h"
#include "base/log.h"
#include "codec/kafka/gen/create_partitions.h"
#include "codec/kafka/gen/create_topics.h"
#include "codec/kafka/gen/delete_topics.h"
#include "codec/kafka/gen/incremental_alter_configs.h"
#include "codec/kafka/gen/metadata.h"
#include "sim/consumers.h"

namespace lakestream::sim {

namespace {

using kafka_api::ErrorCode;

constexpr std::int16_t first_fetch_with_ids = 13;
constexpr std::int16_t first_metadata_with_ids = 10;
constexpr std::int16_t first_delete_with_ids = 6;
constexpr std::int8_t topic_resource = 2;

/// The code, or `network_exception` without an answer.
rt::Task<ErrorCode> create_topic(
    Connections& connections, std::string topic, std::size_t partitions
) {
    rt::SimExecutor& executor = connections.executor();
    const auto connection = co_await connections.any();
    if (!connection.ok()) {
        co_return ErrorCode::network_exception;
    }
    kafka_api::CreateTopicsRequest request;
    request.topics.push_back(
        {.name = std::move(topic),
         .num_partitions = static_cast<std::int32_t>(partitions),
         .replication_factor = 1,
         .assignments = {},
         .configs = {}}
    );
    const auto version = draw_version<kafka_api::CreateTopicsRequest>(executor.rng());
    const auto response =
        co_await (*connection)
            ->call<kafka_api::CreateTopicsResponse>(request, version, executor.now() + 30s);
    co_return response.ok() ? response->topics.at(0).error_code : ErrorCode::network_exception;
}

/// The topic's id as a random node knows it; zero when it does not.
rt::Task<kafka_api::Uuid> load_topic_id(Connections& connections, std::string topic) {
    rt::SimExecutor& executor = connections.executor();
    const auto connection = co_await connections.any();
    if (!connection.ok()) {
        co_return kafka_api::Uuid{};
    }
    kafka_api::MetadataRequest request;
    request.topics->push_back({.name = std::move(topic)});
    request.allow_auto_topic_creation = false;
    const auto version =
        draw_version<kafka_api::MetadataRequest>(executor.rng(), first_metadata_with_ids);
    const auto response =
        co_await (*connection)
            ->call<kafka_api::MetadataResponse>(request, version, executor.now() + 30s);
    if (!response.ok() || response->topics.empty() ||
        response->topics.front().error_code != ErrorCode::none) {
        co_return kafka_api::Uuid{};
    }
    co_return response->topics.front().topic_id;
}

/// A random Metadata request, for whatever it may find.
rt::Task<void> look_around(Connections& connections) {
    rt::SimExecutor& executor = connections.executor();
    const auto connection = co_await connections.any();
    if (connection.ok()) {
        kafka_api::MetadataRequest request;
        const auto version = draw_version<kafka_api::MetadataRequest>(executor.rng());
        if (version > 0) {
            request.topics.reset();
        }
        const auto response =
            co_await (*connection)
                ->call<kafka_api::MetadataResponse>(request, version, executor.now() + 10s);
        static_cast<void>(response.ok());
    }
}

}  // namespace

rt::Task<void> TopicMaker::run() {
    std::vector<std::string> names;
    for (const Partition& partition : ledger_.partitions) {
        if (std::ranges::find(names, partition.topic) == names.end()) {
            names.push_back(partition.topic);
        }
    }
    for (const std::string& name : names) {
        while (true) {
            const ErrorCode code =
                co_await create_topic(connections_, name, world_.knobs.workload.partitions);
            if (code == ErrorCode::none || code == ErrorCode::topic_already_exists) {
                break;
            }
            co_await nap(1s);
        }
        kafka_api::Uuid id;
        while (id.is_zero()) {
            co_await nap(100ms);
            id = co_await load_topic_id(connections_, name);
        }
        ledger_.topic_ids[name] = id;
    }
}

rt::Task<void> Churner::run() {
    while (chaos()) {
        const kafka_api::Uuid id = co_await create();
        log::info("sim", "topic_made topic={} id={}", topic_, id.to_string());
        const std::uint64_t count = rng().below(4);
        // A late write may bring an old one back, a node that lags may still know it.
        if (seen_.insert(id).second) {
            for (std::uint64_t i = 0; i < count; ++i) {
                co_await write(id);
            }
            co_await change();
            co_await read(id);
        }
        co_await look_around(connections_);
        co_await remove(id);
        co_await nap(rng().chance(1, 2) ? Duration(0) : Duration(3s));
    }
    doing_ = "finished";
}

rt::Task<kafka_api::Uuid> Churner::create() {
    while (true) {
        const ErrorCode code = co_await create_topic(connections_, topic_, rng().between(1, 3));
        doing_ = fmt::format("create: {}", to_string(code));
        if (code == ErrorCode::none || code == ErrorCode::topic_already_exists) {
            const auto id = co_await load_topic_id(connections_, topic_);
            if (!id.is_zero()) {
                co_return id;
            }
        }
        co_await nap(500ms);
    }
}

/// By topic id, so that it can only be this one.
rt::Task<void> Churner::write(kafka_api::Uuid id) {
    // A node that lags may have told us the id of the topic before.
    constexpr int attempts_max = 30;
    for (int i = 0; i < attempts_max; ++i) {
        Batch batch = make_batch(rng(), world_, {});
        batch.partition = partition(id);
        batch.lane = ledger_.new_lane();
        const std::size_t number = ledger_.add(std::move(batch)).id;
        const auto connection = co_await connections_.any();
        if (connection.ok()) {
            const auto response =
                co_await (*connection)
                    ->call<kafka_api::ProduceResponse>(
                        produce_request(ledger_.at(number), id, -1, 5s), 13, executor_.now() + 8s
                    );
            if (response.ok()) {
                const auto& answer = response->responses.at(0).partition_responses.at(0);
                doing_ = fmt::format("write: {}", to_string(answer.error_code));
                if (answer.error_code == ErrorCode::none) {
                    ledger_.acknowledge(
                        ledger_.at(number), Offset(answer.base_offset), (*connection)->life()
                    );
                    co_return;
                }
            }
        }
        co_await nap(500ms);
    }
}

rt::Task<void> Churner::change() {
    const auto connection = co_await connections_.any();
    if (!connection.ok()) {
        co_return;
    }
    kafka_api::CreatePartitionsRequest grow;
    grow.topics.push_back({.name = topic_, .count = static_cast<std::int32_t>(rng().between(1, 6))}
    );
    grow.timeout_ms = 5'000;
    kafka_api::IncrementalAlterConfigsRequest alter;
    auto& resource = alter.resources.emplace_back();
    resource.resource_type = topic_resource;
    resource.resource_name = topic_;
    resource.configs.push_back(
        {.name = "segment.ms", .config_operation = 0, .value = std::to_string(rng().between(1, 9))}
    );
    const auto grown =
        co_await (*connection)
            ->call<kafka_api::CreatePartitionsResponse>(
                grow, draw_version<kafka_api::CreatePartitionsRequest>(rng()), executor_.now() + 8s
            );
    const auto altered = co_await (*connection)
                             ->call<kafka_api::IncrementalAlterConfigsResponse>(
                                 alter,
                                 draw_version<kafka_api::IncrementalAlterConfigsRequest>(rng()),
                                 executor_.now() + 8s
                             );
    doing_ = fmt::format("change: {} {}", grown.ok(), altered.ok());
}

rt::Task<void> Churner::read(kafka_api::Uuid id) {
    const Partition of = partition(id);
    Offset at(0);
    while (at < ledger_.acknowledged_end(of)) {
        const auto connection = co_await connections_.any();
        if (connection.ok()) {
            const auto version = draw_version<kafka_api::FetchRequest>(rng(), first_fetch_with_ids);
            const auto response =
                co_await (*connection)
                    ->call<kafka_api::FetchResponse>(
                        fetch_request(of, id, at, 1 << 20), version, executor_.now() + 10s
                    );
            if (response.ok() && response->error_code == ErrorCode::none) {
                const auto& answer = response->responses.at(0).partitions.at(0);
                doing_ = fmt::format("read: {}", to_string(answer.error_code));
                if (answer.error_code == ErrorCode::unknown_topic_id && deletes_open_) {
                    co_return;
                }
                if (answer.error_code == ErrorCode::none) {
                    at = ledger_.see(of, at, answer.records.value_or(Slices()).join());
                }
            }
        }
        co_await nap(300ms);
    }
}

rt::Task<void> Churner::remove(kafka_api::Uuid id) {
    ledger_.bury(partition(id));
    while (true) {
        const auto connection = co_await connections_.any();
        if (connection.ok()) {
            kafka_api::DeleteTopicsRequest request;
            const auto version = draw_version<kafka_api::DeleteTopicsRequest>(rng());
            if (version >= first_delete_with_ids) {
                request.topics.push_back({.topic_id = id});
            } else {
                request.topic_names.push_back(topic_);
            }
            request.timeout_ms = 30'000;
            const auto response = co_await (*connection)
                                      ->call<kafka_api::DeleteTopicsResponse>(
                                          request, version, executor_.now() + 30s
                                      );
            if (response.ok()) {
                const ErrorCode code = response->responses.at(0).error_code;
                doing_ = fmt::format("delete: {}", to_string(code));
                log::info(
                    "sim",
                    "topic_deleted topic={} id={} code={} version={} life={}",
                    topic_,
                    id.to_string(),
                    to_string(code),
                    version,
                    (*connection)->life()
                );
                if (code == ErrorCode::none || code == ErrorCode::unknown_topic_or_partition ||
                    code == ErrorCode::unknown_topic_id) {
                    co_return;
                }
            } else if (version < first_delete_with_ids) {
                deletes_open_ = true;
            }
        }
        co_await nap(500ms);
    }
}

}  // namespace lakestream::sim
