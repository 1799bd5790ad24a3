// SPDX-License-Identifier: Apache-2.0
// Node: everything between the seams: engine, catalog, servers. The same in production and
// under simulation.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "catalog/metadata_catalog.h"
#include "clean/cleaner.h"
#include "compact/compacted_objects.h"
#include "compact/compactor.h"
#include "compact/iceberg_sink.h"
#include "http/health.h"
#include "http/server.h"
#include "kafka/cluster.h"
#include "kafka/server.h"
#include "log/node_engine.h"
#include "meta/metadata_store.h"
#include "net/net.h"
#include "objstore/object_store.h"
#include "rt/scope.h"
#include "server/process_metrics.h"
#include "server/settings.h"

namespace lakestream::server {

/// What the compactor role stands on.
struct CompactionSeams {
    rt::Offloader& offloader;  // low priority
    rt::Offloader& reads;      // decodes what clients read
    objstore::ObjectStore& compacted;
    objstore::ObjectStore& tables;
    std::string tables_location;  // of the tables' root, for other readers
    compact::SpillFiles& spill;
    std::string scratch_folder;  // exists
};

/// What a node stands on. All of it outlives the node.
struct Seams {
    std::vector<rt::Executor*> executors;  // one for each shard; the node's own tasks on the first
    rt::Offloader& offloader;              // looks into what clients read and write
    net::Network& network;
    objstore::ObjectStore& objects;  // WAL objects
    meta::MetadataStore& metadata;
    /// Why metadata cannot be written, as far as it is known without trying; none: unknown.
    std::function<Status()> metadata_health = {};
    /// Room where things are stored; none: not known.
    std::function<std::vector<DiskSpace>()> disks = {};
    metrics::Registry& metrics;
    std::optional<CompactionSeams> compaction;  // absent: compacted objects cannot be read either
    std::vector<kafka::BrokerConfig> settings = {};  // what clients are told of them
};

/// Made, started, stopped and destroyed on the first executor. Its parts start in the order in
/// which they stand here and stop in reverse.
class Node {
  public:
    Node(NodeSettings settings, Seams seams);
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    ~Node();

    /// Serves when it ends well; after an error only `stop` may follow. Errors: of the stores; of
    /// Network::listen (address taken, no right).
    rt::Task<Status> start();
    /// Take no more, answer what has arrived, make it durable; what is not done at `deadline` is
    /// cut off, as a crash would. Nothing acknowledged is lost either way.
    rt::Task<void> stop(Deadline deadline);
    /// Crash (simulation only): forget everything as it stands.
    void abandon() noexcept;

    /// Whether clients are served. From any thread.
    bool ready() const noexcept { return state_.load(std::memory_order_relaxed) == State::serving; }
    /// `/v1/status`, as docs/operations.md shows it. On the first executor, after `start`.
    rt::Task<http::Response> report_status();
    /// Where they are served, with the port that the system chose. Precondition: started.
    const net::Address& kafka_address() const { return *kafka_address_; }
    /// Where /metrics is served. Precondition: started, and http.listen is not empty.
    const net::Address& http_address() const { return *http_address_; }
    const std::string& cluster_id() const { return cluster_.id; }

    // For programs that the node is linked into. Precondition: started; they end with `stop`.
    log::Engine& engine() { return *engine_; }
    catalog::Catalog& catalog() { return *catalog_; }
    compact::TableFilesLoader& table_files() { return table_files_; }
    const Seams& seams() const { return seams_; }
    /// The executor that a log lives on.
    rt::Executor& home_of(LogId log) const { return *seams_.executors[engine_->home(log)]; }

  private:
    /// The catalog and the engine do not know each other.
    class EngineFencer final : public catalog::LogFencer {
      public:
        explicit EngineFencer(log::Engine& engine) : engine_(engine) {}
        rt::Task<void> fence(LogId log) override;

      private:
        log::Engine& engine_;
    };

    rt::Executor& home() const { return *seams_.executors.front(); }
    enum class State : std::uint8_t { starting, serving, stopping };

    void register_metrics();
    void add_checks();
    Status start_http();
    Status start_kafka();
    void start_compactor();
    void start_cleaner();
    rt::Task<void> recover();

    const NodeSettings settings_;
    Seams seams_;
    kafka::Metrics kafka_metrics_;
    std::atomic<State> state_{State::starting};
    WallTime started_{};
    MonoTime started_mono_{};
    kafka::Cluster cluster_;
    std::optional<net::Address> http_address_;
    std::optional<net::Address> kafka_address_;
    compact::TableFilesLoader table_files_;
    std::unique_ptr<compact::CompactedObjects> compacted_;
    std::unique_ptr<log::NodeEngine> engine_;
    EngineFencer fencer_;
    std::unique_ptr<catalog::MetadataCatalog> catalog_;
    http::Readiness readiness_;
    std::unique_ptr<http::Server> http_;
    std::unique_ptr<kafka::Server> kafka_;
    std::unique_ptr<compact::IcebergSink> tables_;
    std::unique_ptr<compact::Compactor> compactor_;
    std::unique_ptr<clean::Cleaner> cleaner_;
    metrics::Registrations registrations_;
    rt::TaskScope scope_;
};

std::unique_ptr<Node> make_node(NodeSettings settings, Seams seams);

/// The cluster's id in this metadata store, made by the first node that asks: `/lks/cluster`
/// (docs/formats/cluster.md). Errors: of the store; `corrupt`, `unsupported` (a newer format).
rt::Task<Result<std::string>> load_cluster_id(meta::MetadataStore& store);

}  // namespace lakestream::server
