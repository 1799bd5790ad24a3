// SPDX-License-Identifier: Apache-2.0
// Starts and stops the parts of a node in order.
#include "server/node.h"

#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "http/metrics_handler.h"

namespace lakestream::server {

namespace {

class StatusHandler final : public http::Handler {
  public:
    explicit StatusHandler(Node& node) : node_(node) {}
    rt::Task<http::Response> handle(http::Request) override {
        co_return co_await node_.report_status();
    }

  private:
    Node& node_;
};

std::unique_ptr<compact::CompactedObjects> open_compacted(
    const NodeSettings& settings, const Seams& seams, compact::TableFilesLoader& loader
) {
    if (!seams.compaction.has_value()) {
        return nullptr;
    }
    return std::make_unique<compact::CompactedObjects>(
        compact::CompactedObjects::Seams{
            .objects = seams.compaction->compacted,
            .metadata = seams.metadata,
            .offloader = seams.compaction->reads,  // a consumer does not wait behind a compaction
            .loader = loader,
        },
        settings.compacted_cache_bytes_max
    );
}

}  // namespace

Node::Node(NodeSettings settings, Seams seams)
    : settings_(std::move(settings)),
      seams_(std::move(seams)),
      kafka_metrics_(seams_.metrics),
      compacted_(open_compacted(settings_, seams_, table_files_)),
      engine_(std::make_unique<log::NodeEngine>(
          settings_.log,
          log::NodeEngine::Seams{
              .executors = seams_.executors,
              .objects = seams_.objects,
              .metadata = seams_.metadata,
              .metrics = seams_.metrics,
              .compacted = compacted_.get(),
          }
      )),
      fencer_(*engine_),
      registrations_(seams_.metrics),
      scope_(home()) {
    register_metrics();
}

Node::~Node() = default;

rt::Task<Status> Node::start() {
    started_ = home().clock().wall_now();
    started_mono_ = home().now();
    cluster_.id = LKS_CO_TRY(co_await load_cluster_id(seams_.metadata));
    LKS_CO_TRY(co_await engine_->start());
    catalog_ =
        LKS_CO_TRY(co_await catalog::MetadataCatalog::open(seams_.metadata, fencer_, home()));
    scope_.spawn(recover());
    if (!settings_.http_listen.empty()) {
        LKS_CO_TRY(start_http());
    }
    if (settings_.has_role("broker")) {
        LKS_CO_TRY(start_kafka());
    }
    if (settings_.has_role("compactor") && seams_.compaction.has_value()) {
        start_compactor();
        if (settings_.clean.enabled) {
            start_cleaner();
        }
    }
    state_ = State::serving;
    co_return Status();
}

void Node::start_compactor() {
    CompactionSeams& seams = *seams_.compaction;
    tables_ = std::make_unique<compact::IcebergSink>(compact::IcebergSink::Seams{
        .tables = seams.tables,
        .offloader = seams.offloader,
        .location = seams.tables_location,
    });
    compactor_ = std::make_unique<compact::Compactor>(
        settings_.compact,
        compact::Compactor::Seams{
            .executor = home(),
            .offloader = seams.offloader,
            .engine = *engine_,
            .view = *engine_,
            .catalog = *catalog_,
            .metadata = seams_.metadata,
            .wal = seams_.objects,
            .compacted = seams.compacted,
            .tables = *tables_,
            .loader = table_files_,
            .spill = seams.spill,
            .scratch_folder = seams.scratch_folder,
            .metrics = seams_.metrics,
        }
    );
    compactor_->start();
}

void Node::start_cleaner() {
    cleaner_ = std::make_unique<clean::Cleaner>(
        settings_.clean,
        clean::Cleaner::Seams{
            .executor = home(),
            .engine = *engine_,
            .view = *engine_,
            .catalog = *catalog_,
            .metadata = seams_.metadata,
            .wal = seams_.objects,
            .compacted = seams_.compaction->compacted,
            .metrics = seams_.metrics,
        }
    );
    cleaner_->start();
}

Status Node::start_http() {
    const net::Address wanted = LKS_TRY(net::Address::parse(settings_.http_listen));
    auto listener = LKS_TRY(seams_.network.listen(home(), wanted));
    http_address_ = listener->address();
    log::info("http", "listening address={}", http_address_->to_string());
    add_checks();
    http_ = std::make_unique<http::Server>(home());
    http_->route("/metrics", std::make_unique<http::MetricsHandler>(seams_.metrics));
    http_->route("/livez", std::make_unique<http::LiveHandler>());
    http_->route("/readyz", std::make_unique<http::ReadyHandler>(readiness_));
    http_->route("/v1/status", std::make_unique<StatusHandler>(*this));
    http_->start(std::move(listener));
    return {};
}

Status Node::start_kafka() {
    const net::Address wanted = LKS_TRY(net::Address::parse(settings_.kafka_listen));
    std::optional<net::Address> told;  // else where it listens
    if (!settings_.kafka_advertise.empty()) {
        told = LKS_TRY(net::Address::parse(settings_.kafka_advertise));
    }
    auto listener = LKS_TRY(seams_.network.listen(home(), wanted));
    kafka_address_ = listener->address();
    cluster_.self = settings_.broker_id;
    cluster_.brokers = {{
        .id = settings_.broker_id,
        .address = told.value_or(*kafka_address_),
        .rack = settings_.zone.empty() ? std::nullopt : std::optional(settings_.zone),
    }};
    kafka_ = std::make_unique<kafka::Server>(
        home(),
        seams_.executors,
        kafka::Backend{
            .engine = *engine_,
            .offloader = seams_.offloader,
            .catalog = *catalog_,
            .metadata = seams_.metadata,
            .cluster = cluster_,
            .metrics = kafka_metrics_,
            .settings = seams_.settings,
        },
        settings_.kafka
    );
    kafka_->start(std::move(listener), "kafka");
    return {};
}

rt::Task<void> Node::EngineFencer::fence(LogId log) {
    co_await engine_.fence(log);
}

rt::Task<void> Node::recover() {
    const Status recovered = co_await catalog_->recover();
    if (!recovered.ok() && !recovered.is(ErrorCode::cancelled)) {
        log::warn("server", "catalog_recovery_failed error={}", recovered.error());
    }
}

rt::Task<void> Node::stop(Deadline deadline) {
    state_ = State::stopping;
    if (kafka_ != nullptr) {
        co_await kafka_->stop(deadline);
    }
    if (http_ != nullptr) {
        co_await http_->stop(deadline);
    }
    if (cleaner_ != nullptr) {
        co_await cleaner_->close();
    }
    if (compactor_ != nullptr) {
        co_await compactor_->close();
    }
    co_await scope_.close();
    co_await engine_->close(deadline);
    catalog_.reset();
}

void Node::abandon() noexcept {
    state_ = State::stopping;
    if (kafka_ != nullptr) {
        kafka_->abandon();
    }
    if (http_ != nullptr) {
        http_->abandon();
    }
    if (cleaner_ != nullptr) {
        cleaner_->abandon();
    }
    if (compactor_ != nullptr) {
        compactor_->abandon();
    }
    scope_.abandon();
    engine_->abandon();
}

std::unique_ptr<Node> make_node(NodeSettings settings, Seams seams) {
    return std::make_unique<Node>(std::move(settings), std::move(seams));
}

}  // namespace lakestream::server
