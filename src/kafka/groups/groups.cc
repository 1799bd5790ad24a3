// SPDX-License-Identifier: Apache-2.0
// Spreads groups over the executors, and asks all of them.
#include "kafka/groups/groups.h"

#include <map>

#include "base/assert.h"
#include "base/format.h"
#include "base/log.h"
#include "base/uuid.h"
#include "kafka/groups/selector.h"
#include "meta/shard_router.h"
#include "rt/scope.h"

namespace lakestream::kafka::groups {

namespace {

rt::Task<bool> drain_one(Coordinator& coordinator) {
    coordinator.drain();
    co_return true;
}

rt::Task<bool> close_one(Coordinator& coordinator) {
    co_await coordinator.close();
    co_return true;
}

rt::Task<void> wait_for_all(std::vector<rt::Future<bool>> running) {
    for (rt::Future<bool>& one : running) {
        co_await std::move(one);
    }
}

}  // namespace

Groups::Groups(
    rt::Executor& home,
    std::vector<rt::Executor*> executors,
    const Seams& seams,
    const Cluster& cluster,
    const GroupOptions& options
)
    : seams_(seams), cluster_(cluster), options_(options.part_of(executors.size())) {
    LKS_ASSERT(!executors.empty());
    const std::string identity = uuid_text(make_uuid(home.rng().bytes16()));
    for (std::size_t i = 0; i < executors.size(); ++i) {
        coordinators_.push_back(std::make_unique<Coordinator>(
            *executors[i],
            seams_,
            options_,
            fmt::format("{}.{}", identity, i),
            [this, i](std::string_view group) { return coordinates(group) && index_of(group) == i; }
        ));
    }
}

Groups::~Groups() = default;

bool Groups::coordinates(std::string_view group) const {
    return coordinator_of(cluster_, group).id == cluster_.self;
}

std::size_t Groups::index_of(std::string_view group) const {
    return meta::key_hash(group) % coordinators_.size();
}

Coordinator& Groups::of(std::string_view group) const {
    return *coordinators_[index_of(group)];
}

rt::Task<Result<std::vector<ListedGroup>>> Groups::list() {
    std::map<std::string, ListedGroup> groups;
    const auto scan = seams_.metadata.scan(keys::all_groups(seams_.metadata.key_order()));
    while (true) {
        const auto page = LKS_CO_TRY(co_await scan->next());
        if (page.empty()) {
            break;
        }
        for (const meta::Record& stored : page) {
            const auto id = keys::group_id(stored.key);
            if (!id.has_value() || !coordinates(*id)) {
                continue;
            }
            const auto record = decode_group(stored.value);
            if (!record.ok()) {
                seams_.metrics.unreadable.add();
                log::warn("kafka", "group_unreadable key={} error={}", stored.key, record.error());
                continue;
            }
            if (record->life == GroupRecord::Life::lives) {
                groups[*id] = {
                    .id = *id,
                    .protocol_type = record->protocol_type,
                    .state = record->members.empty() ? GroupState::empty : GroupState::stable,
                };
            }
        }
    }
    // What is in memory knows better, and comes after the scan: a group that is deleted meanwhile
    // may be listed, one that is there may not be missed.
    for (const auto& coordinator : coordinators_) {
        auto there = co_await rt::submit(coordinator->executor(), coordinator->list());
        for (ListedGroup& group : LKS_CO_TRY(std::move(there))) {
            groups[group.id] = group;
        }
    }
    std::vector<ListedGroup> listed;
    for (auto& [id, group] : groups) {
        listed.push_back(std::move(group));
    }
    co_return listed;
}

void Groups::topic_dropped(std::array<std::byte, 16> topic_id) {
    for (const auto& coordinator : coordinators_) {
        Coordinator& there = *coordinator;
        there.executor().post([&there, topic_id] { there.topic_dropped(topic_id); });
    }
}

void Groups::start() {
    for (const auto& coordinator : coordinators_) {
        Coordinator& there = *coordinator;
        there.executor().post([&there] { there.start(); });
    }
}

rt::Task<void> Groups::drain() {
    std::vector<rt::Future<bool>> draining;
    for (const auto& coordinator : coordinators_) {
        draining.push_back(rt::submit(coordinator->executor(), drain_one(*coordinator)));
    }
    co_await wait_for_all(std::move(draining));
}

rt::Task<void> Groups::close() {
    std::vector<rt::Future<bool>> closing;
    for (const auto& coordinator : coordinators_) {
        closing.push_back(rt::submit(coordinator->executor(), close_one(*coordinator)));
    }
    co_await wait_for_all(std::move(closing));
}

void Groups::abandon() noexcept {
    for (const auto& coordinator : coordinators_) {
        coordinator->abandon();
    }
}

}  // namespace lakestream::kafka::groups
