// SPDX-License-Identifier: Apache-2.0
// Groups: the coordinators of a node, one for each executor; a group's is chosen by a hash.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "kafka/cluster.h"
#include "kafka/groups/coordinator.h"
#include "rt/executor.h"
#include "rt/future.h"

namespace lakestream::kafka::groups {

/// Requests may come from any of the executors; the rest runs on the one it was made on.
class Groups {
  public:
    Groups(
        rt::Executor& home,
        std::vector<rt::Executor*> executors,
        const Seams& seams,
        const Cluster& cluster,
        const GroupOptions& options
    );
    Groups(const Groups&) = delete;
    Groups& operator=(const Groups&) = delete;
    ~Groups();

    /// `ask(group, &Coordinator::join, request)`: runs where the group lives. **The call orders,
    /// the future completes**: requests of one caller to one group begin in the order of the calls.
    /// `cancelled` when the node stops.
    template <class T, class... Parameters>
    rt::Future<Result<T>> ask(
        std::string group,
        rt::Task<Result<T>> (Coordinator::*call)(std::string, Parameters...),
        std::type_identity_t<Parameters>... arguments
    ) {
        Coordinator& there = of(group);
        rt::Promise<Result<T>> promise;
        auto future = promise.future();
        there.executor().post([&there,
                               call,
                               group = std::move(group),
                               promise = std::move(promise),
                               ... arguments = std::move(arguments)]() mutable {
            there.spawn(
                (there.*call)(std::move(group), std::move(arguments)...), std::move(promise)
            );
        });
        return future;
    }

    /// All groups of this node whose records can be read, in memory or not, by id. Errors: of the
    /// store. Cost: 1 scan of all groups.
    rt::Task<Result<std::vector<ListedGroup>>> list();
    /// The offsets committed for it go. Cost: none for groups that have none.
    void topic_dropped(Uuid topic_id);

    void start();
    /// Answer what waits, so that connections can drain; commits and heartbeats are still served.
    rt::Task<void> drain();
    /// After the last request. Precondition: drained.
    rt::Task<void> close();
    void abandon() noexcept;

  private:
    bool coordinates(std::string_view group) const;
    Coordinator& of(std::string_view group) const;
    std::size_t index_of(std::string_view group) const;

    const Seams seams_;
    const Cluster& cluster_;
    const GroupOptions options_;
    std::vector<std::unique_ptr<Coordinator>> coordinators_;
};

}  // namespace lakestream::kafka::groups
