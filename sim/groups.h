// SPDX-License-Identifier: Apache-2.0
// Members of consumer groups: they join, take their parts, commit, leave, and go from node to node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/clients.h"

namespace lakestream::sim {

/// What the members of one group have been told, put together.
struct GroupBook {
    struct Told {
        std::int32_t generation = -1;
        std::int64_t offset = -1;  // the highest acknowledged
    };
    std::map<std::int32_t, Told> by_partition;
    std::map<std::int32_t, std::int64_t> tried;  // the highest sent, since the last removal
    /// The group is being removed: what was sent meanwhile may belong to the one before or after.
    bool removing = false;
    std::map<std::int32_t, std::int64_t> tried_meanwhile;
    std::uint64_t removals = 0;  // begun
    bool unsure = false;         // one may have been made, or may still be

    /// A time at which all is known of the group; none if it is not.
    std::optional<std::uint64_t> steady() const {
        return removing || unsure ? std::nullopt : std::optional(removals);
    }
    void sent(std::int32_t partition, std::int64_t offset);
    void removed();
};

/// One member. Every node that it asks takes itself for the group's coordinator: only the epochs
/// keep them apart. Commits count up from what it fetches, so a lost one shows.
class GroupMember final : public Client {
  public:
    GroupMember(
        World& world, Ledger& ledger, const std::string& name, std::string group, GroupBook& book
    )
        : Client(world, ledger, name),
          group_(std::move(group)),
          instance_(rng().chance(1, 3) ? std::optional(name) : std::nullopt),
          book_(book) {}
    void start() override { scope_.spawn(run()); }
    std::string status() const override;

  private:
    rt::Task<void> run();
    /// Errors: no answer, or one after which it begins anew.
    rt::Task<Status> work_once();
    rt::Task<Result<Connection*>> coordinator();
    rt::Task<Status> join(Connection& connection);
    rt::Task<Status> sync(Connection& connection, std::vector<std::string> members);
    rt::Task<Status> heartbeat(Connection& connection);
    rt::Task<Status> fetch(Connection& connection);
    rt::Task<Status> commit(Connection& connection);
    rt::Task<Status> leave(Connection& connection);
    rt::Task<Status> remove(Connection& connection);
    rt::Task<Status> look(Connection& connection);
    /// A version that can carry the instance id, if there is one.
    template <class Request>
    std::int16_t version_of(std::int16_t first_with_instance, std::int16_t low = 0) const {
        const std::int16_t first = instance_.has_value() ? first_with_instance : low;
        return draw_version<Request>(rng(), std::max(low, first));
    }
    /// Begin anew, as nobody.
    void forget();
    Status judge(kafka_api::ErrorCode code);
    void acknowledged(
        std::int32_t partition, std::int64_t offset, std::optional<std::int32_t> newest
    );
    void check_fetched(std::int32_t partition, std::int64_t offset, std::int64_t floor);

    const std::string group_;
    const std::optional<std::string> instance_;  // of a static member
    GroupBook& book_;
    Host* favourite_ = nullptr;
    std::string id_;
    std::int32_t generation_ = -1;  // -1: has to join
    std::uint64_t life_ = 0;        // of the process that positions were fetched from
    std::map<std::int32_t, std::int64_t> positions_;  // the last committed, by partition
    bool fetched_ = false;
    std::uint64_t commits_ = 0;
    std::string last_error_;
};

}  // namespace lakestream::sim
