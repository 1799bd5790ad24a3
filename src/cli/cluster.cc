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

/// `a.b: value` for each value in `document`.
Status put_flat(const json& document, const std::string& path) {
    if (!document.is_structured() || document.empty()) {
        return put_line(fmt::format(
            "{}: {}", path, document.is_string() ? document.get<std::string>() : document.dump()
        ));
    }
    for (const auto& [name, value] : document.items()) {
        LKS_TRY(put_flat(value, path.empty() ? name : fmt::format("{}.{}", path, name)));
    }
    return {};
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
    if (answer.status != 200 || status.is_discarded()) {
        return unavailable("{} answered /v1/status with {}", http, answer.status);
    }
    return format == RecordFormat::json ? put_line(status.dump()) : put_flat(status, "");
}

}  // namespace lakestream::cli
