// SPDX-License-Identifier: Apache-2.0
// Server: accepts Kafka connections and spreads them over the shards.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kafka/options.h"
#include "kafka/shard.h"
#include "net/net.h"
#include "rt/executor.h"
#include "rt/scope.h"

namespace lakestream::kafka {

class ShardServer;

/// Owned by the node; made, started and stopped on the executor it listens on. Every connection
/// belongs to one shard's executor for its life.
class Server {
  public:
    /// `executors`: one per shard, at least one. All arguments outlive the server.
    Server(
        rt::Executor& executor,
        std::vector<rt::Executor*> executors,
        const Backend& backend,
        const ServerOptions& options
    );
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server();

    /// Serve what comes in on `listener`, which has a name for logs and, later, for security. May
    /// be called again for further listeners. (Listen first: clients must be told the real port.)
    void start(std::unique_ptr<net::Listener> listener, std::string name);

    /// Accept no more, answer what has arrived, hang up at `deadline` at the latest; ends when
    /// every request in flight has ended. Call before the engine stops.
    rt::Task<void> stop(Deadline deadline);

    /// Drop everything where it stands: only for a node that is cut off (TaskScope::abandon).
    void abandon() noexcept;

    std::size_t connections() const noexcept {
        return connections_.load(std::memory_order_relaxed);
    }

  private:
    rt::Task<void> accept(net::Listener& listener, std::string name);

    const Backend backend_;
    const ServerOptions options_;
    std::atomic<std::size_t> connections_{0};
    const std::unique_ptr<groups::Groups> groups_;
    std::vector<std::unique_ptr<ShardServer>> shards_;
    std::size_t next_shard_ = 0;
    std::vector<std::unique_ptr<net::Listener>> listeners_;
    rt::TaskScope scope_;
};

}  // namespace lakestream::kafka
