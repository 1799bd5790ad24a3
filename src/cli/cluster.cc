// SPDX-License-Identifier: Apache-2.0
// cluster info, metadata, apis, health, status: who is there, and how it is.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/http_get.h"
#include "cli/rows.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/topic_info.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;
using nlohmann::json;

namespace {

constexpr double mib = 1 << 20;
constexpr double gib = 1 << 30;

rt::Task<Result<kafka::MetadataResponse>> load_metadata(Broker& broker, bool topics) {
    kafka::MetadataRequest request;
    if (topics) {
        request.topics = std::nullopt;
    }
    co_return co_await broker.call<kafka::MetadataResponse>(std::move(request));
}

rt::Task<Status> info(Broker& broker, RecordFormat format) {
    auto found = LKS_CO_TRY(co_await load_metadata(broker, false));
    std::ranges::sort(found.brokers, {}, [](const auto& one) { return one.node_id; });
    Rows rows(format, {"cluster", "broker", "host", "port", "zone", "controller"});
    for (const auto& one : found.brokers) {
        LKS_CO_TRY(rows.add(
            {found.cluster_id ? json(*found.cluster_id) : json(nullptr),
             one.node_id,
             one.host,
             one.port,
             one.rack ? json(*one.rack) : json(nullptr),
             one.node_id == found.controller_id}
        ));
    }
    co_return rows.finish();
}

rt::Task<Status> metadata(Broker& broker, RecordFormat format) {
    auto found = LKS_CO_TRY(co_await load_metadata(broker, true));
    std::ranges::sort(found.topics, {}, &Topic::name);
    Rows rows(format, {"topic", "partition", "leader", "leader_epoch", "replicas", "error"});
    for (Topic& topic : found.topics) {
        std::ranges::sort(topic.partitions, {}, [](const auto& p) { return p.partition_index; });
        for (const auto& partition : topic.partitions) {
            LKS_CO_TRY(rows.add(
                {topic.name.value_or(""),
                 partition.partition_index,
                 partition.leader_id,
                 partition.leader_epoch,
                 partition.replica_nodes,
                 partition.error_code == kafka::ErrorCode::none
                     ? json(nullptr)
                     : json(kafka::to_string(partition.error_code))}
            ));
        }
    }
    co_return rows.finish();
}

rt::Task<Status> apis(Broker& broker, RecordFormat format) {
    Rows rows(format, {"key", "api", "newest", "used"});
    const auto versions = broker.versions();
    for (std::size_t key = 0; key < versions.size(); ++key) {
        const auto* const known = kafka::find_api(static_cast<std::int16_t>(key));
        if (versions[key] >= 0) {
            LKS_CO_TRY(rows.add(
                {key,
                 known ? json(known->name) : json(nullptr),
                 versions[key],
                 known ? json(std::min(versions[key], known->versions.last)) : json(nullptr)}
            ));
        }
    }
    co_return rows.finish();
}

/// Null when the node does not say.
const json& part_of(const json& object, std::string_view name) {
    static const json nothing;
    const auto found = object.find(name);
    return found == object.end() ? nothing : *found;
}

double number_of(const json& object, std::string_view name) {
    const json& found = part_of(object, name);
    return found.is_number() ? found.get<double>() : 0;
}

std::string text_of(const json& object, std::string_view name) {
    const json& found = part_of(object, name);
    return found.is_string() ? found.get<std::string>() : "";
}

/// "3.2 s ago", or "never".
std::string age_of(const json& object, std::string_view name) {
    const json& found = part_of(object, name);
    return found.is_number() ? fmt::format("{:.1f} s ago", found.get<double>()) : "never";
}

/// Whether the node is ready; else what is wrong.
Status add_checks(Rows& rows, const json& status) {
    std::string wrong;
    for (const json& check : part_of(status, "checks")) {
        if (part_of(check, "ok") != true) {
            wrong += fmt::format(
                "{}{}: {}",
                wrong.empty() ? "no: " : "; ",
                text_of(check, "name"),
                text_of(check, "reason")
            );
        }
    }
    return rows.add({"ready", wrong.empty() ? "yes" : wrong});
}

Status add_work(Rows& rows, const json& status) {
    const json& wal = part_of(status, "wal");
    LKS_TRY(rows.add(
        {"wal",
         fmt::format(
             "{} objects waiting, the oldest record {:.1f} s; stored {}, published {}",
             number_of(wal, "objects_waiting"),
             number_of(wal, "oldest_pending_seconds"),
             age_of(wal, "last_store_age_seconds"),
             age_of(wal, "last_publish_age_seconds")
         )}
    ));
    const json& compaction = part_of(status, "compaction");
    if (compaction.is_object()) {
        LKS_TRY(rows.add(
            {"compaction",
             fmt::format(
                 "{} records ({:.1f} MiB) behind, since {:.1f} s; last object {}, {} failures",
                 number_of(compaction, "backlog_records"),
                 number_of(compaction, "backlog_bytes") / mib,
                 number_of(compaction, "backlog_seconds"),
                 age_of(compaction, "last_object_age_seconds"),
                 number_of(compaction, "failures")
             )}
        ));
    }
    for (const json& table : part_of(status, "tables")) {
        const std::string reason = text_of(table, "reason");
        LKS_TRY(rows.add(
            {"table " + text_of(table, "topic"),
             fmt::format(
                 "{}, {} records behind; committed {}{}",
                 text_of(table, "state"),
                 number_of(table, "lag_records"),
                 age_of(table, "last_commit_age_seconds"),
                 reason.empty() ? "" : ": " + reason
             )}
        ));
    }
    return {};
}

/// For people; JSON has all of it.
Status put_status(const json& status) {
    Rows rows(RecordFormat::text, {"part", "state"});
    const json& node = part_of(status, "node");
    LKS_TRY(rows.add(
        {"node",
         fmt::format(
             "{}, version {}, up {:.0f} s",
             number_of(node, "id"),
             text_of(node, "version"),
             number_of(node, "uptime_seconds")
         )}
    ));
    LKS_TRY(add_checks(rows, status));
    LKS_TRY(rows.add(
        {"kafka",
         fmt::format(
             "{}, {} connections, {} requests running",
             text_of(node, "kafka"),
             number_of(status, "connections"),
             number_of(status, "requests_running")
         )}
    ));
    LKS_TRY(rows.add(
        {"topics",
         fmt::format(
             "{}, with {} partitions", number_of(status, "topics"), number_of(status, "partitions")
         )}
    ));
    LKS_TRY(add_work(rows, status));
    for (const json& disk : part_of(status, "disks")) {
        LKS_TRY(rows.add(
            {"disk of " + text_of(disk, "of"),
             fmt::format(
                 "{:.1f} of {:.1f} GiB free in {}",
                 number_of(disk, "free_bytes") / gib,
                 number_of(disk, "size_bytes") / gib,
                 text_of(disk, "folder")
             )}
        ));
    }
    return rows.finish();
}

}  // namespace

Status cluster_info(const std::string& bootstrap, RecordFormat format) {
    return on_broker(bootstrap, info, format);
}

Status cluster_metadata(const std::string& bootstrap, RecordFormat format) {
    return on_broker(bootstrap, metadata, format);
}

Status cluster_apis(const std::string& bootstrap, RecordFormat format) {
    return on_broker(bootstrap, apis, format);
}

Result<Exit> cluster_health(const std::string& http, RecordFormat format) {
    const HttpAnswer answer = LKS_TRY(http_get(http, "/readyz"));
    const json report = json::parse(answer.body, nullptr, false);
    if (!report.is_object() || !report.contains("checks") || !report["checks"].is_array()) {
        return unavailable("http://{}/readyz answered {}", http, answer.status);
    }
    const bool ready = answer.status == 200;
    Rows rows(format, {"node", "check", "ok", "reason"});
    for (const json& check : report["checks"]) {
        if (check.is_object()) {
            LKS_TRY(rows.add(
                {http,
                 check.value("name", ""),
                 check.value("ok", false),
                 check.contains("reason") ? check["reason"] : json(nullptr)}
            ));
        }
    }
    LKS_TRY(rows.finish());
    return ready ? Exit::ok : Exit::failed;
}

Status cluster_status(const std::string& http, RecordFormat format) {
    const HttpAnswer answer = LKS_TRY(http_get(http, "/v1/status"));
    if (answer.status == 404) {
        return unsupported(
            "the node at {} does not serve /v1/status: see `lakestream cluster health`", http
        );
    }
    const json status = json::parse(answer.body, nullptr, false);
    if (answer.status != 200 || !status.is_object()) {
        return unavailable("{} answered /v1/status with {}", http, answer.status);
    }
    return format == RecordFormat::json ? put_line(status.dump()) : put_status(status);
}

}  // namespace lakestream::cli
