// SPDX-License-Identifier: Apache-2.0
// SimNode: a whole node on simulated leaves, which can crash and start again over the same stores.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meta/memory_store.h"
#include "net/sim/network.h"
#include "objstore/memory_store.h"
#include "rt/sim/testing.h"
#include "server/node.h"

namespace lakestream::server::testing {

/// One machine called `node` in a world with one client, `sim`. Each life of the node has an
/// executor of its own, which dies with it.
class SimNode {
  public:
    ~SimNode() { stop(); }

    Status start(NodeSettings settings = settings_for("node:9092")) {
        executor_ = lives_
                        .emplace_back(std::make_unique<rt::SimExecutor>(
                            sim.loop, sim.clock, lives_.size() + 2
                        ))
                        .get();
        offloaders_.push_back(std::make_unique<rt::SimOffloader>(*executor_, 1ms));
        node = make_node(
            std::move(settings),
            Seams{
                .executors = {executor_},
                .offloader = *offloaders_.back(),
                .network = network,
                .objects = objects,
                .metadata = metadata,
                .disks = [this] { return disks; },
                .metrics = registry,
            }
        );
        return run(node->start());
    }

    void stop() {
        if (node != nullptr) {
            LKS_ASSERT(run(stop_and_say(*node)).ok());
            node.reset();
        }
    }

    void crash() {
        wires.crash("node");
        executor_->kill();
        node->abandon();
        node.reset();
    }

    static NodeSettings settings_for(const std::string& kafka_listen) {
        NodeSettings settings;
        settings.kafka_listen = kafka_listen;
        settings.http_listen = "node:9644";
        return settings;
    }

    rt::SimTest sim;
    net::SimWires wires{sim.loop, 1};
    net::SimNetwork network{wires, "node"};
    net::SimNetwork client_network{wires, "client"};
    objstore::MemoryBucket bucket{sim.clock};
    objstore::MemoryStore objects{bucket};
    meta::MemoryMetadata service{sim.executor};
    meta::MemoryStore metadata{service, sim.executor};
    std::vector<DiskSpace> disks;
    metrics::Registry registry;
    std::unique_ptr<Node> node;

  private:
    static rt::Task<Status> stop_and_say(Node& node) {
        co_await node.stop((co_await rt::this_executor()).now() + 10s);
        co_return Status();
    }

    static rt::Task<bool> keep(rt::Task<Status> task, std::optional<Status>& result) {
        result.emplace(co_await std::move(task));
        co_return true;
    }

    /// On the node's executor.
    Status run(rt::Task<Status> task) {
        std::optional<Status> result;
        static_cast<void>(rt::submit(*executor_, keep(std::move(task), result)));
        LKS_ASSERT(sim.loop.run_until([&] { return result.has_value(); }));
        return std::move(*result);
    }

    std::vector<std::unique_ptr<rt::SimExecutor>> lives_;
    std::vector<std::unique_ptr<rt::SimOffloader>> offloaders_;  // one for each life
    rt::SimExecutor* executor_ = nullptr;
};

}  // namespace lakestream::server::testing
