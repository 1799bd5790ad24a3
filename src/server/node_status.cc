// SPDX-License-Identifier: Apache-2.0
// How a node is: the checks of /readyz, /v1/status, and metrics that need several of its parts.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/format.h"
#include "base/version.h"
#include "server/node.h"

namespace lakestream::server {

namespace {

using Json = nlohmann::ordered_json;

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

Json age_of(std::optional<MonoTime> since, MonoTime now) {
    return since.has_value() ? Json(seconds(now - *since)) : Json();
}

Json age_of(const metrics::LastSuccess& last, MonoTime now) {
    const auto age = last.age(now);
    return age.has_value() ? Json(*age) : Json();
}

std::string_view state_name(compact::TableState state) {
    const auto found = std::ranges::find(
        compact::table_state_names, state, &std::pair<compact::TableState, std::string_view>::first
    );
    return found->second;
}

Json to_json(const compact::TableStatus& table, MonoTime now) {
    return {
        {"namespace", table.stream.ns},
        {"topic", table.stream.name},
        {"state", state_name(table.state)},
        {"reason", table.reason},
        {"lag_records", table.lag_records},
        {"lag_seconds", table.behind_since.has_value() ? seconds(now - *table.behind_since) : 0},
        {"last_commit_age_seconds", age_of(table.last_commit, now)},
    };
}

Json to_json(const compact::Compactor& compactor, MonoTime now) {
    const compact::CompactorStatus& status = compactor.status();
    const compact::CompactorMetrics& m = compactor.metrics();
    return {
        {"backlog_records", status.backlog_records},
        {"backlog_bytes", status.backlog_bytes},
        {"backlog_seconds",
         status.backlog_since.has_value() ? seconds(now - *status.backlog_since) : 0},
        {"spill_bytes", m.spill_bytes.value()},
        {"failures", m.failures.value()},
        {"last_round_age_seconds", age_of(m.round, now)},
        {"last_object_age_seconds", age_of(m.compaction, now)},
        {"last_table_commit_age_seconds", age_of(m.commit, now)},
    };
}

Json to_json(const std::vector<DiskSpace>& disks) {
    Json all = Json::array();
    for (const DiskSpace& disk : disks) {
        all.push_back(
            {{"of", disk.of},
             {"folder", disk.folder},
             {"free_bytes", disk.free_bytes},
             {"size_bytes", disk.size_bytes}}
        );
    }
    return all;
}

}  // namespace

void Node::add_checks() {
    readiness_.add("node", [this]() -> Status {
        switch (state_.load(std::memory_order_relaxed)) {
            case State::starting: return unavailable("starting");
            case State::serving: return {};
            case State::stopping: return unavailable("stopping: it answers what has arrived");
        }
        return {};
    });
    if (seams_.metadata_health) {
        readiness_.add("metadata", seams_.metadata_health);
    }
    readiness_.add("storage", [this] { return engine_->store_health(); });
    if (seams_.disks) {
        readiness_.add("disk", [this] { return check_disks(seams_.disks()); });
    }
}

rt::Task<http::Response> Node::report_status() {
    const auto streams = co_await catalog_->list(settings_.compact.ns);
    const MonoTime now = home().now();
    const log::FlusherMetrics& wal = engine_->flusher_metrics();
    Json body = Json::parse(readiness_.report().body);
    body["cluster_id"] = cluster_.id;
    body["node"] = {
        {"id", settings_.broker_id},
        {"version", version},
        {"roles", settings_.roles},
        {"zone", settings_.zone},
        {"kafka", kafka_address_.has_value() ? kafka_address_->to_string() : ""},
        {"http", http_address_.has_value() ? http_address_->to_string() : ""},
        {"shards", seams_.executors.size()},
        {"started_ms", to_ms(started_)},
        {"uptime_seconds", seconds(now - started_mono_)},
    };
    if (streams.ok()) {
        std::size_t partitions = 0;
        for (const catalog::StreamPtr& stream : *streams) {
            partitions += stream->logs.size();
        }
        body["topics"] = streams->size();
        body["partitions"] = partitions;
    }
    body["connections"] = kafka_metrics_.connections.value();
    body["requests_running"] = kafka_metrics_.requests_running.value();
    body["wal"] = {
        {"objects_waiting", engine_->objects_waiting()},
        {"oldest_pending_seconds", seconds(engine_->durability_lag())},
        {"last_store_age_seconds", age_of(wal.stored, now)},
        {"last_publish_age_seconds", age_of(wal.published, now)},
    };
    body["compaction"] = compactor_ == nullptr ? Json() : to_json(*compactor_, now);
    body["tables"] = Json::array();
    if (compactor_ != nullptr) {
        for (const compact::TableStatus& table : compactor_->status().tables) {
            body["tables"].push_back(to_json(table, now));
        }
    }
    body["disks"] = to_json(seams_.disks ? seams_.disks() : std::vector<DiskSpace>());
    co_return http::Response{
        .body = body.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
    };
}

void Node::register_metrics() {
    metrics::Registrations& out = registrations_;
    out.collect_gauge("lakestream_node_ready", "Whether /readyz answers 200.", [this] {
        return metrics::sample(readiness_.report().status == 200 ? 1.0 : 0.0);
    });
    out.collect_gauge("lakestream_http_connections", "Open connections to this surface.", [this] {
        const auto open = http_ == nullptr ? 0 : http_->connections().value();
        return metrics::sample(static_cast<double>(open));
    });
    out.collect(
        "lakestream_http_evictions_total",
        "Connections to this surface that were closed to make room for others.",
        metrics::Entry::Kind::counter,
        {},
        [this] {
            const auto evicted = http_ == nullptr ? 0 : http_->evictions().value();
            return metrics::sample(static_cast<double>(evicted));
        }
    );
    out.collect_gauge(
        "lakestream_kafka_memory_limit_bytes",
        "Limits of what requests and responses may hold, of all shards together.",
        {"budget"},
        [this] {
            const auto limit = [&](std::string budget, std::uint64_t of_shard) {
                return metrics::Sample{
                    .labels = {{"budget", std::move(budget)}},
                    .value = static_cast<double>(of_shard * seams_.executors.size()),
                };
            };
            return std::vector<metrics::Sample>{
                limit("request", settings_.kafka.shard.request_bytes),
                limit("response", settings_.kafka.shard.response_bytes),
            };
        }
    );
    if (compacted_ != nullptr) {
        compacted_->register_metrics(out);
    }
}

}  // namespace lakestream::server
