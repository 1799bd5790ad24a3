// SPDX-License-Identifier: Apache-2.0
// What goes by itself: offsets of idle groups and of deleted topics, and groups with nothing left.
#include <algorithm>

#include "base/format.h"
#include "base/log.h"
#include "kafka/groups/coordinator.h"
#include "kafka/topics.h"

namespace lakestream::kafka::groups {

namespace {

constexpr std::size_t loads_per_sweep_max = 1000;
constexpr std::size_t looks_between_yields = 1000;  // at groups and offsets

}  // namespace

void Coordinator::start() {
    scope_.spawn(sweep_loop());
}

rt::Task<void> Coordinator::sweep_loop() {
    while (!co_await scope_.stop().sleep_until(executor_.now() + options_.offsets_check_interval)) {
        co_await sweep();
    }
}

rt::Task<void> Coordinator::sweep() {
    const Status loaded = co_await load_expirable();
    if (!loaded.ok() && !scope_.stopping()) {
        log::warn("kafka", "groups_not_swept error={}", loaded.error());
    }
    // One at a time: a group that is held cannot make room for others.
    for (auto at = slots_.begin(); at != slots_.end() && !scope_.stopping();) {
        const std::string id = at->first;
        co_await sweep_slot(at->second);
        co_await rt::yield();
        at = slots_.upper_bound(id);
    }
}

/// Topics of committed offsets that are gone for sure: another one has the name, or the name was
/// missed twice, for a listing may be old.
rt::Task<std::set<Uuid>> Coordinator::missing_topics(SlotPtr slot) {
    std::map<Uuid, std::string> names;
    slot->ledger->each([&](const std::string& topic, std::int32_t, const Committed& committed) {
        names.emplace(committed.topic_id, topic);
    });
    std::set<Uuid> gone;
    std::set<Uuid> missed;
    for (const auto& [id, name] : names) {
        const auto stream = co_await load_topic(seams_.catalog, name, {});
        if (stream.ok() && (*stream)->incarnation != id) {
            gone.insert(id);
        } else if (stream.is(ErrorCode::not_found)) {
            (slot->topics_missed.contains(id) ? gone : missed).insert(id);
        }
    }
    slot->topics_missed = std::move(missed);
    account(*slot);
    co_return gone;
}

rt::Task<void> Coordinator::sweep_slot(SlotPtr slot) {
    const auto is_ready = [&] {
        return slot->phase == Phase::ready && slot->ledger.has_value() && !slot->writing &&
               slot->group.state() != GroupState::dead;
    };
    if (!is_ready()) {
        co_return;
    }
    const auto gone = co_await missing_topics(slot);
    if (!is_ready()) {
        co_return;
    }
    Op op;
    slot->ledger->each(
        [&](const std::string& topic, std::int32_t partition, const Committed& committed) {
            if (gone.contains(committed.topic_id)) {
                op.offsets.emplace(OffsetKey{topic, partition}, std::nullopt);
            }
        }
    );
    if (clock_.may_expire(now(), options_.offsets_retention)) {
        const WallTime date = clock_.now(now());
        for (OffsetKey& key : expired_offsets(slot->group, *slot->ledger, options_, date)) {
            op.offsets.emplace(std::move(key), std::nullopt);
        }
    }
    const std::size_t count = op.offsets.size();
    const bool nothing_left = count == slot->ledger->size() && slot->group.idle() &&
                              slot->group.state() == GroupState::empty;
    if (nothing_left && !slot->ledger->exists()) {
        leave_nothing(slot);
        co_return;
    }
    if (nothing_left) {
        const auto removed = co_await remove_group(slot);
        if (removed.ok() && *removed == KafkaError::none) {
            seams_.metrics.offsets_expired.add(count);
        }
    } else if (count > 0 && (co_await store(slot, std::move(op))).ok()) {
        seams_.metrics.offsets_expired.add(count);
    }
}

/// Groups that nobody has asked for since the start expire as well.
rt::Task<Status> Coordinator::load_expirable() {
    const bool may_expire = clock_.may_expire(now(), options_.offsets_retention);
    const WallTime date = clock_.now(now());
    std::vector<std::string> found;
    const auto scan = seams_.metadata.scan(keys::all_groups(seams_.metadata.key_order()));
    while (found.size() < loads_per_sweep_max) {
        const auto page = LKS_CO_TRY(co_await scan->next());
        if (page.empty()) {
            break;
        }
        for (const meta::Record& stored : page) {
            auto id = keys::group_id(stored.key);
            if (!id.has_value() || !is_mine_(*id) || slots_.contains(*id)) {
                continue;
            }
            const auto record = decode_group(stored.value);
            if (!record.ok()) {
                seams_.metrics.unreadable.add();
                log::warn("kafka", "group_unreadable key={} error={}", stored.key, record.error());
                continue;
            }
            const bool is_old =
                may_expire &&
                record->empty_since <=
                    date - std::chrono::floor<WallTime::duration>(options_.offsets_retention);
            if (record->life == GroupRecord::Life::deleted || !record->members.empty() || is_old) {
                found.push_back(std::move(*id));
            }
        }
    }
    for (std::string& id : found) {
        if (scope_.stopping()) {
            break;
        }
        const auto opened = co_await open(std::move(id), Missing::is_made);
        if (!opened.ok() && !is_unreadable(opened.error())) {
            co_return opened.error();  // as would be all behind it
        }
    }
    co_return Status();
}

rt::Task<Status> Coordinator::each_slot(std::function<void(const SlotPtr&)> visit) {
    std::size_t looks = 0;
    // Groups come and go meanwhile, also by what is done to this one: each is looked up anew.
    for (auto at = slots_.begin(); at != slots_.end();) {
        const SlotPtr slot = at->second;
        visit(slot);
        looks += 1 + (slot->ledger.has_value() ? slot->ledger->size() : 0);
        if (looks >= looks_between_yields) {
            looks = 0;
            co_await rt::yield();
            if (scope_.stopping()) {
                co_return cancelled("the node is stopping");
            }
        }
        at = slots_.upper_bound(slot->id);
    }
    co_return Status();
}

void Coordinator::topic_dropped(Uuid topic_id) {
    dropped_topics_.insert(topic_id);
    if (!scope_.stopping() && !std::exchange(dropping_topics_, true)) {
        scope_.spawn(drop_topics());
    }
}

/// One walk for all topics that are dropped before it begins.
rt::Task<void> Coordinator::drop_topics() {
    Status walked;
    while (walked.ok() && !dropped_topics_.empty()) {
        const std::set<Uuid> topics = std::exchange(dropped_topics_, {});
        walked = co_await each_slot([&](const SlotPtr& slot) { drop_offsets(slot, topics); });
    }
    dropping_topics_ = false;
}

void Coordinator::drop_offsets(const SlotPtr& slot, const std::set<Uuid>& topics) {
    if (slot->phase != Phase::ready || !slot->ledger.has_value()) {
        return;
    }
    Op op{.deadline = executor_.now() + options_.commit_timeout, .done = {}};
    slot->ledger->each(
        [&](const std::string& topic, std::int32_t partition, const Committed& committed) {
            if (topics.contains(committed.topic_id)) {
                op.offsets.emplace(OffsetKey{topic, partition}, std::nullopt);
            }
        }
    );
    if (!op.offsets.empty()) {
        seams_.metrics.offsets_expired.add(op.offsets.size());
        enqueue(slot, std::move(op));
    }
}

}  // namespace lakestream::kafka::groups
