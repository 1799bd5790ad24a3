// SPDX-License-Identifier: Apache-2.0
// Starting and stopping a node from outside of its executors.
#include "server/running_node.h"

#include <utility>
#include <vector>

#include "base/assert.h"
#include "server/blocking.h"

namespace lakestream::server {

namespace {

using NodePtr = std::unique_ptr<Node>;

rt::Task<Result<NodePtr>> start_node(NodeSettings settings, Seams seams) {
    NodePtr node = make_node(std::move(settings), std::move(seams));
    Status started = co_await node->start();
    if (!started.ok()) {
        co_await node->stop((co_await rt::this_executor()).now());
        co_return std::move(started).error();
    }
    co_return node;
}

rt::Task<void> stop_node(NodePtr node, Duration patience) {
    co_await node->stop((co_await rt::this_executor()).now() + patience);
    node.reset();
}

Seams seams_of(Leaves& leaves, const Settings& settings) {
    std::vector<rt::Executor*> executors;
    for (std::size_t i = 0; i < leaves.loops().size(); ++i) {
        executors.push_back(&leaves.loops()[i]);
    }
    return {
        .executors = std::move(executors),
        .offloader = leaves.offloader(),
        .network = leaves.network(),
        .objects = leaves.objects(),
        .metadata = leaves.metadata(),
        .metadata_health = [&leaves] { return leaves.metadata_health(); },
        .disks = [&leaves] { return leaves.process().disks(); },
        .metrics = leaves.registry(),
        .compaction = leaves.compaction(),
        .settings = describe_settings(settings),
    };
}

}  // namespace

Result<std::unique_ptr<RunningNode>> RunningNode::start(const Settings& settings) {
    auto opened = LKS_TRY(Leaves::open(settings, Open::create));
    Leaves& leaves = *opened;
    std::unique_ptr<RunningNode> running(new RunningNode(std::move(opened), settings.drain_max));
    running->node_ = LKS_TRY(
        run_blocking(leaves.loops()[0], start_node(settings.node, seams_of(leaves, settings)))
    );
    return running;
}

RunningNode::~RunningNode() {
    LKS_ASSERT(node_ == nullptr);
}

void RunningNode::stop() {
    run_blocking(leaves_->loops()[0], stop_node(std::move(node_), drain_max_));
}

}  // namespace lakestream::server
