// SPDX-License-Identifier: Apache-2.0
// The accept loop, and each shard's set of connections.
#include "kafka/server.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "kafka/connection.h"
#include "kafka/groups/groups.h"

namespace lakestream::kafka {

namespace {

constexpr auto look_pause = std::chrono::milliseconds(100);

}  // namespace

/// The connections of one executor. Everything but the constructor runs there.
class ShardServer {
  public:
    ShardServer(
        rt::Executor& executor,
        const Backend& backend,
        const ServerOptions& options,
        groups::Groups& groups,
        FetchSessions::Slot slot,
        std::atomic<std::size_t>& connections
    )
        : shard_(executor, backend, options, groups, slot), open_(connections), scope_(executor) {
        shard_.cut_off_slow = [this] { cut_off_slow(); };
    }
    ShardServer(const ShardServer&) = delete;
    ShardServer& operator=(const ShardServer&) = delete;

    rt::Executor& executor() const { return shard_.executor; }

    void adopt(std::unique_ptr<net::Stream> stream, std::string listener) {
        if (shard_.stopping) {
            stream->close();
            open_.fetch_sub(1);
            return;
        }
        const std::uint64_t id = ++last_id_;
        Connection& connection =
            *connections_
                 .emplace(
                     id,
                     std::make_unique<Connection>(shard_, std::move(stream), std::move(listener))
                 )
                 .first->second;
        shard_.backend.metrics.connections.add(1);
        scope_.spawn(run(id, connection));
    }

    /// Looks at all connections, but not again and again for each request that waits.
    void cut_off_slow() {
        if (shard_.executor.now() < look_again_) {
            return;
        }
        look_again_ = shard_.executor.now() + look_pause;
        for (auto& [id, connection] : connections_) {
            if (connection->is_slow()) {
                connection->close();
            }
        }
    }

    /// True when it is done.
    rt::Task<bool> stop(Deadline deadline) {
        shard_.stopping = true;
        for (auto& [id, connection] : connections_) {
            connection->drain();
        }
        while (!connections_.empty() && co_await ended_.wait(deadline)) {
        }
        for (auto& [id, connection] : connections_) {
            log::warn(
                "kafka",
                "connection_cut_at_stop peer={} client={}",
                connection->peer().address.to_string(),
                connection->peer().client_id
            );
            connection->close();
        }
        shard_.time_search.stop();
        co_await scope_.close();
        co_return true;
    }

    void abandon() noexcept {
        for (auto& [id, connection] : connections_) {
            connection->abandon();
        }
        scope_.abandon();
    }

  private:
    rt::Task<void> run(std::uint64_t id, Connection& connection) {
        co_await connection.run();
        connections_.erase(id);
        shard_.backend.metrics.connections.add(-1);
        open_.fetch_sub(1);
        ended_.notify_all();
    }

    Shard shard_;
    std::atomic<std::size_t>& open_;  // of all shards, those on their way here included
    std::uint64_t last_id_ = 0;
    MonoTime look_again_{};
    std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
    rt::Signal ended_;
    rt::TaskScope scope_;
};

Server::Server(
    rt::Executor& executor,
    std::vector<rt::Executor*> executors,
    const Backend& backend,
    const ServerOptions& options
)
    : backend_(backend),
      options_(options),
      groups_(std::make_unique<groups::Groups>(
          executor,
          executors,
          groups::Seams{
              .metadata = backend.metadata,
              .catalog = backend.catalog,
              .metrics = backend.metrics.groups,
          },
          backend.cluster,
          options.groups
      )),
      scope_(executor) {
    LKS_ASSERT(!executors.empty());
    for (std::size_t i = 0; i < executors.size(); ++i) {
        const FetchSessions::Slot slot{
            .index = static_cast<std::uint32_t>(i),
            .count = static_cast<std::uint32_t>(executors.size()),
        };
        shards_.push_back(std::make_unique<ShardServer>(
            *executors[i], backend_, options_, *groups_, slot, connections_
        ));
    }
}

Server::~Server() = default;

void Server::start(std::unique_ptr<net::Listener> listener, std::string name) {
    log::info("kafka", "listening address={} name={}", listener->address().to_string(), name);
    if (listeners_.empty()) {
        groups_->start();
    }
    listeners_.push_back(std::move(listener));
    scope_.spawn(accept(*listeners_.back(), std::move(name)));
}

rt::Task<void> Server::accept(net::Listener& listener, std::string name) {
    while (!scope_.stopping()) {
        ShardServer& shard = *shards_[next_shard_++ % shards_.size()];
        auto stream = co_await listener.accept(shard.executor());
        if (stream.is(ErrorCode::cancelled)) {
            co_return;
        }
        if (!stream.ok()) {
            log::warn("kafka", "accept_failed name={} error={}", name, stream.error());
            continue;
        }
        const bool full = connections_.load() >= options_.connections_max;
        if (full) {
            backend_.metrics.connections_refused.add();
        } else {
            backend_.metrics.connections_accepted.add();
            connections_.fetch_add(1);
        }
        // The stream belongs to the shard's executor; only there is it touched, be it to close it.
        shard.executor().post([&shard, full, name, stream = std::move(*stream)]() mutable {
            if (full) {
                stream->close();
            } else {
                shard.adopt(std::move(stream), std::move(name));
            }
        });
    }
}

rt::Task<void> Server::stop(Deadline deadline) {
    for (const auto& listener : listeners_) {
        listener->close();
    }
    co_await scope_.close();
    co_await groups_->drain();
    std::vector<rt::Future<bool>> stopping;
    for (const auto& shard : shards_) {
        stopping.push_back(rt::submit(shard->executor(), shard->stop(deadline)));
    }
    for (rt::Future<bool>& shard : stopping) {
        co_await std::move(shard);
    }
    co_await groups_->close();
}

void Server::abandon() noexcept {
    for (const auto& shard : shards_) {
        shard->abandon();
    }
    groups_->abandon();
    scope_.abandon();
}

}  // namespace lakestream::kafka
