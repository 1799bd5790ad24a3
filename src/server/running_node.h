// SPDX-License-Identifier: Apache-2.0
// RunningNode: a node on production leaves, from start to stop, for threads that are no executor's.
#pragma once

#include <memory>

#include "base/result.h"
#include "server/leaves.h"
#include "server/node.h"
#include "server/settings.h"

namespace lakestream::server {

/// Used by one thread. `stop` it before it goes.
class RunningNode {
  public:
    /// Open the leaves and start the node on them. Blocks. Errors: of both.
    static Result<std::unique_ptr<RunningNode>> start(const Settings& settings);
    RunningNode(const RunningNode&) = delete;
    RunningNode& operator=(const RunningNode&) = delete;
    ~RunningNode();

    /// Drain and stop, for at most the setting `drain_max`. Blocks.
    void stop();

    Node& node() { return *node_; }
    Leaves& leaves() { return *leaves_; }

  private:
    RunningNode(std::unique_ptr<Leaves> leaves, Duration drain_max)
        : leaves_(std::move(leaves)), drain_max_(drain_max) {}

    std::unique_ptr<Leaves> leaves_;
    std::unique_ptr<Node> node_;
    const Duration drain_max_;
};

}  // namespace lakestream::server
