// SPDX-License-Identifier: Apache-2.0
// TestCluster: several log engines over one bucket and one metadata store, on one seeded loop.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log/node_engine.h"
#include "log/testing/flaky_stores.h"
#include "rt/sim/loop.h"

namespace lakestream::log {

/// `shards` executors a node. Everything in virtual time.
class TestCluster {
  public:
    struct Node {
        Node(TestCluster& cluster, std::size_t shards, std::uint64_t seed)
            : clock(cluster.loop),
              client(cluster.metadata, cluster.outside),
              store(cluster.bucket),
              flaky_metadata(client, cluster.outside, cluster.flakiness),
              flaky_objects(store, cluster.flakiness) {
            std::vector<rt::Executor*> all;
            for (std::size_t i = 0; i < shards; ++i) {
                executors.push_back(
                    std::make_unique<rt::SimExecutor>(cluster.loop, clock, seed * 100 + i)
                );
                all.push_back(executors.back().get());
            }
            engine = std::make_unique<NodeEngine>(
                cluster.settings,
                NodeEngine::Seams{
                    .executors = std::move(all),
                    .objects = flaky_objects,
                    .metadata = flaky_metadata,
                    .metrics = metrics,
                    .compacted = cluster.compacted,
                }
            );
        }

        rt::Executor& home() { return *executors.front(); }

        rt::SimClock clock;
        std::vector<std::unique_ptr<rt::SimExecutor>> executors;
        metrics::Registry metrics;
        meta::MemoryStore client;
        objstore::MemoryStore store;
        FlakyMetadata flaky_metadata;
        FlakyObjects flaky_objects;
        std::unique_ptr<NodeEngine> engine;
    };

    explicit TestCluster(std::uint64_t seed, std::size_t metadata_shards = 1)
        : loop(seed),
          server_clock(loop),
          outside(loop, server_clock, seed + 7),
          metadata(outside, {.shards = metadata_shards}),
          bucket(server_clock),
          seed_(seed) {}

    ~TestCluster() {
        for (auto& node : nodes) {
            if (node != nullptr) {
                crash(*node);
            }
        }
    }

    Node& add_node(std::size_t shards = 2) {
        nodes.push_back(std::make_unique<Node>(*this, shards, ++seed_));
        Node& node = *nodes.back();
        LKS_ASSERT(run(node.home(), node.engine->start()).ok());
        return node;
    }

    /// Run a task on an executor to its end in virtual time.
    template <class T>
    T run(rt::Executor& executor, rt::Task<T> task) {
        std::optional<T> result;
        static_cast<void>(rt::submit(executor, keep(std::move(task), result)));
        LKS_ASSERT(loop.run_until([&] { return result.has_value(); }, loop.now() + 1h));
        return std::move(*result);
    }

    void stop(Node& node) {
        static_cast<void>(run(node.home(), [](NodeEngine& engine, Deadline end) -> rt::Task<bool> {
            co_await engine.close(end);
            co_return true;
        }(*node.engine, loop.now() + 30s)));
        crash(node);
    }

    /// SIGKILL: nothing of the node runs any more.
    static void crash(Node& node) {
        for (auto& executor : node.executors) {
            executor->kill();
        }
        node.engine->abandon();
        node.flaky_metadata.scope().abandon();
    }

    rt::SimLoop loop;
    rt::SimClock server_clock;
    rt::SimExecutor outside;  // network and servers: survives every node
    meta::MemoryMetadata metadata;
    objstore::MemoryBucket bucket;
    EngineSettings settings;
    Flakiness flakiness;
    CompactedSource* compacted = nullptr;
    std::vector<std::unique_ptr<Node>> nodes;

  private:
    template <class T>
    static rt::Task<bool> keep(rt::Task<T> task, std::optional<T>& result) {
        result.emplace(co_await std::move(task));
        co_return true;
    }

    std::uint64_t seed_;
};

}  // namespace lakestream::log
