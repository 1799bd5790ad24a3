// SPDX-License-Identifier: Apache-2.0
// Requests to the groups of one executor, and their timers.
#include "kafka/groups/coordinator.h"

#include <algorithm>

#include "base/format.h"
#include "base/log.h"

namespace lakestream::kafka::groups {

namespace {

/// What clients are told when the metadata store did not take something.
KafkaError not_stored(const Status& status) {
    if (status.ok()) {
        return KafkaError::none;
    }
    return status.is(ErrorCode::fenced) || status.is(ErrorCode::cancelled)
               ? KafkaError::not_coordinator
               : KafkaError::coordinator_not_available;
}

/// Whether there is such a group for those who do not make one.
bool is_known(const auto& slot) {
    return !slot.ledger.has_value() || slot.ledger->exists() || !slot.group.idle();
}

}  // namespace

bool Coordinator::is_unreadable(const Error& error) {
    return error.code == ErrorCode::corrupt || error.code == ErrorCode::unsupported;
}

Coordinator::Coordinator(
    rt::Executor& executor,
    const Seams& seams,
    const GroupOptions& options,
    std::string identity,
    IsMine is_mine
)
    : executor_(executor),
      seams_(seams),
      options_(options),
      is_mine_(std::move(is_mine)),
      identity_(std::move(identity)),
      clock_({.mono = executor.now(), .wall = executor.clock().wall_now()}),
      scope_(executor) {}

Coordinator::~Coordinator() = default;

Moment Coordinator::now() const {
    return {.mono = executor_.now(), .wall = executor_.clock().wall_now()};
}

rt::Task<Result<Coordinator::SlotPtr>> Coordinator::open(std::string group, Missing missing) {
    while (true) {
        const auto found = slots_.find(group);
        if (found == slots_.end()) {
            if (missing == Missing::is_an_error) {
                LKS_CO_TRY(co_await check_stored(group));
            }
            if (!slots_.contains(group)) {
                LKS_CO_TRY(has_place(group));
                const auto slot = std::make_shared<Slot>(group, options_);
                slots_.emplace(group, slot);
                seams_.metrics.groups.add(1);
                scope_.spawn(load(slot));
            }
            continue;
        }
        const SlotPtr slot = found->second;
        while (slot->phase == Phase::loading) {
            co_await slot->loaded.wait();
        }
        if (slot->phase == Phase::failed) {
            co_return slot->error;
        }
        if (slot->phase == Phase::ready) {
            if (missing == Missing::is_made || is_known(*slot)) {
                slot->used = executor_.now();
                co_return slot;
            }
            LKS_CO_TRY(co_await check_unknown(slot));
        }
    }
}

/// `not_found`: nothing is stored of it.
rt::Task<Status> Coordinator::check_stored(std::string group) {
    const auto record = LKS_CO_TRY(co_await find_group(seams_.metadata, keys::group(group)));
    co_return record.has_value() ? Status() : not_found("group {}", group);
}

/// `not_found`: a group that we know nothing of is not there, for others neither. Ok: that has
/// changed meanwhile.
rt::Task<Status> Coordinator::check_unknown(SlotPtr slot) {
    const Status checked = co_await check_epoch(slot);
    if (slot->phase != Phase::ready || is_known(*slot)) {
        co_return Status();
    }
    LKS_CO_TRY(checked);
    leave_nothing(slot);
    co_return not_found("group {}", slot->id);
}

rt::Task<void> Coordinator::load(SlotPtr slot) {
    slot->loaded_as = ++takeovers_;
    auto taken = co_await take_over(
        seams_.metadata, slot->key, {.coordinator = identity_, .number = slot->loaded_as}
    );
    seams_.metrics.takeovers.add();
    if (taken.ok()) {
        if (!has_room(taken->ledger.bytes())) {
            taken = exhausted("the memory of consumer groups is full");
        }
    }
    if (taken.ok()) {
        slot->ledger = std::move(taken->ledger);
        Op tidying{.deadline = executor_.now() + options_.commit_timeout, .done = {}};
        if (taken->record.has_value() && taken->record_is_void) {
            taken->record->empty_since = now().wall;
            tidying.record = taken->record;
        }
        if (taken->record.has_value()) {
            slot->group = Group(options_, *taken->record, now());
        }
        slot->phase = Phase::ready;
        apply(slot, {});
        tidying.offsets = slot->ledger->covered();
        if (slot->ledger->has_remains() || slot->ledger->has_long_memory() ||
            tidying.record.has_value() || !tidying.offsets.empty()) {
            enqueue(slot, std::move(tidying));
        }
    } else {
        if (is_unreadable(taken.error())) {
            seams_.metrics.unreadable.add();
        }
        log::warn("kafka", "group_not_loaded group={} error={}", slot->id, taken.error());
        slot->error = std::move(taken).error();
        slot->phase = Phase::failed;
        seams_.metrics.groups.add(-1);
        slots_.erase(slot->id);
    }
    slot->loaded.notify_all();
}

/// The group is another coordinator's now, or nobody's.
void Coordinator::drop(const SlotPtr& slot, KafkaError error) {
    slot->phase = Phase::gone;
    const auto found = slots_.find(slot->id);
    if (found != slots_.end() && found->second == slot) {
        slots_.erase(found);
        seams_.metrics.groups.add(-1);
    }
    executor_.cancel(std::exchange(slot->timer, rt::TimerId::none));
    fail_ops(*slot, fenced("group {} has another coordinator", slot->id), MonoTime::max());
    Effects effects;
    slot->group.release(error, effects);
    apply(slot, std::move(effects));
    seams_.metrics.members.add(-static_cast<std::int64_t>(slot->members_counted));
    slot->members_counted = 0;
    account(*slot);
}

void Coordinator::apply(const SlotPtr& slot, Effects effects) {
    for (auto& [ticket, answer] : effects.joined) {
        if (auto waiting = joins_.extract(ticket)) {
            waiting.mapped().set(std::move(answer));
        }
    }
    for (auto& [ticket, answer] : effects.synced) {
        if (auto waiting = syncs_.extract(ticket)) {
            waiting.mapped().set(std::move(answer));
        }
    }
    seams_.metrics.rebalances.add(static_cast<std::uint64_t>(effects.rebalances));
    seams_.metrics.members_expired.add(effects.expired);
    if (effects.too_large > 0) {
        log::warn(
            "kafka",
            "group_assignment_too_large group={} bytes={} max={}",
            slot->id,
            effects.too_large,
            options_.group_bytes_max
        );
    }
    if (slot->phase != Phase::ready) {
        return;
    }
    const std::size_t members = slot->group.members();
    seams_.metrics.members.add(
        static_cast<std::int64_t>(members) - static_cast<std::int64_t>(slot->members_counted)
    );
    slot->members_counted = members;
    account(*slot);
    if (effects.store.has_value()) {
        const auto done =
            [this, weak = std::weak_ptr(slot), id = effects.store->id](const Status& status) {
                if (const SlotPtr stored = weak.lock()) {
                    Effects next;
                    stored->group.stored(id, not_stored(status), now(), next);
                    apply(stored, std::move(next));
                }
            };
        enqueue(
            slot,
            {.record = std::move(effects.store->record),
             .deadline = executor_.now() + options_.commit_timeout,
             .done = done}
        );
    }
    arm(slot);
}

/// The timer may be early: deadlines mostly move away, and then it is set again when it fires.
void Coordinator::arm(const SlotPtr& slot) {
    const auto next = slot->group.next_deadline();
    if (!next.has_value() || (slot->timer != rt::TimerId::none && slot->armed <= *next)) {
        return;
    }
    executor_.cancel(slot->timer);
    slot->armed = *next;
    slot->timer = executor_.call_at(*next, [this, weak = std::weak_ptr(slot)] {
        if (const SlotPtr due = weak.lock()) {
            on_timer(due);
        }
    });
}

void Coordinator::on_timer(const SlotPtr& slot) {
    slot->timer = rt::TimerId::none;
    if (slot->phase != Phase::ready || slot->group.state() == GroupState::dead) {
        return;
    }
    Effects effects;
    slot->group.tick(now(), effects);
    apply(slot, std::move(effects));
}

rt::Task<Result<JoinAnswer>> Coordinator::join(std::string group, JoinRequest request) {
    if (draining_) {
        co_return cancelled("the node is stopping");
    }
    const Missing missing = request.member_id.empty() ? Missing::is_made : Missing::is_an_error;
    const auto slot = co_await open(std::move(group), missing);
    if (slot.is(ErrorCode::not_found)) {
        co_return JoinAnswer{
            .error = KafkaError::unknown_member_id, .member_id = std::move(request.member_id)
        };
    }
    if (!slot.ok()) {
        co_return slot.error();
    }
    if (draining_) {  // meanwhile
        co_return cancelled("the node is stopping");
    }
    if (const std::size_t growth = (*slot)->group.growth(request);
        growth > 0 && (*slot)->group.may_grow(growth) && !has_room(growth)) {
        co_return JoinAnswer{
            .error = KafkaError::coordinator_not_available,
            .member_id = std::move(request.member_id)
        };
    }
    const Ticket ticket{++last_ticket_};
    rt::Promise<Result<JoinAnswer>> promise;
    auto answer = promise.future();
    joins_.emplace(ticket, std::move(promise));
    Effects effects;
    (*slot)->group.join(ticket, std::move(request), now(), effects);
    apply(*slot, std::move(effects));
    co_return co_await std::move(answer);
}

rt::Task<Result<SyncAnswer>> Coordinator::sync(std::string group, SyncRequest request) {
    if (draining_) {
        co_return cancelled("the node is stopping");
    }
    const auto slot = co_await open(std::move(group), Missing::is_an_error);
    if (slot.is(ErrorCode::not_found)) {
        co_return SyncAnswer{.error = KafkaError::unknown_member_id};
    }
    if (!slot.ok()) {
        co_return slot.error();
    }
    if (draining_) {  // meanwhile
        co_return cancelled("the node is stopping");
    }
    std::size_t growth = 0;
    for (const auto& [member, assignment] : request.assignments) {
        growth += assignment.size();
    }
    if (growth > 0 && (*slot)->group.may_grow(growth) && !has_room(growth)) {
        co_return SyncAnswer{.error = KafkaError::coordinator_not_available};
    }
    const Ticket ticket{++last_ticket_};
    rt::Promise<Result<SyncAnswer>> promise;
    auto answer = promise.future();
    syncs_.emplace(ticket, std::move(promise));
    Effects effects;
    (*slot)->group.sync(ticket, std::move(request), now(), effects);
    apply(*slot, std::move(effects));
    co_return co_await std::move(answer);
}

rt::Task<Result<KafkaError>> Coordinator::heartbeat(std::string group, MemberClaim member) {
    const auto slot = co_await open(std::move(group), Missing::is_an_error);
    if (slot.is(ErrorCode::not_found)) {
        co_return KafkaError::unknown_member_id;
    }
    if (!slot.ok()) {
        co_return slot.error();
    }
    co_return (*slot)->group.heartbeat(member, now());
}

rt::Task<Result<std::vector<Left>>> Coordinator::leave(
    std::string group, std::vector<MemberClaim> members
) {
    const auto slot = LKS_CO_TRY(co_await open(std::move(group), Missing::is_an_error));
    std::vector<Left> left;
    Effects effects;
    for (MemberClaim& member : members) {
        const KafkaError error = slot->group.leave(member, now(), effects);
        left.push_back({.member = std::move(member), .error = error});
    }
    apply(slot, std::move(effects));
    co_return left;
}

rt::Task<Result<KafkaError>> Coordinator::commit(std::string group, CommitRequest request) {
    // Anybody may keep offsets under a name of their own; members only in a group that there is.
    const bool is_member = request.member.generation >= 0 || !request.member.member_id.empty();
    const auto slot =
        co_await open(std::move(group), is_member ? Missing::is_an_error : Missing::is_made);
    if (slot.is(ErrorCode::not_found)) {
        co_return KafkaError::illegal_generation;
    }
    if (!slot.ok()) {
        co_return slot.error();
    }
    const KafkaError error = (*slot)->group.check_commit(request.member, now());
    if (error != KafkaError::none) {
        co_return error;
    }
    if ((*slot)->ledger.has_value()) {
        const Ledger& ledger = *(*slot)->ledger;
        const std::size_t added = ledger.added(request.offsets);
        if (added > 0 && ledger.size() + added > options_.offsets_per_group_max) {
            co_return KafkaError::invalid_commit_offset_size;
        }
        const std::size_t growth = ledger.growth(request.offsets);
        if (growth > 0 && !has_room(growth)) {
            co_return KafkaError::coordinator_not_available;
        }
    }
    const std::size_t count = request.offsets.size();
    const Status stored = co_await store(*slot, {.offsets = std::move(request.offsets)});
    if (stored.ok()) {
        seams_.metrics.commits.add();
        seams_.metrics.offsets_committed.add(count);
    } else {
        seams_.metrics.commits_failed.add();
    }
    co_return not_stored(stored);
}

rt::Task<Result<std::vector<FetchedOffset>>> Coordinator::fetch(
    std::string group, std::optional<std::vector<OffsetKey>> asked
) {
    std::vector<FetchedOffset> fetched;
    const auto slot = co_await open(std::move(group), Missing::is_an_error);
    if (!slot.ok() && slot.code() != ErrorCode::not_found) {
        co_return slot.error();
    }
    if (slot.ok()) {
        LKS_CO_TRY(co_await check_epoch(*slot));
    }
    if (asked.has_value()) {
        for (OffsetKey& key : *asked) {
            auto committed =
                slot.ok() ? (*slot)->ledger->find(key.topic, key.partition) : std::nullopt;
            fetched.push_back({.key = std::move(key), .committed = std::move(committed)});
        }
    } else if (slot.ok()) {
        (*slot)->ledger->each(
            [&](const std::string& topic, std::int32_t partition, const Committed& committed) {
                fetched.push_back({.key = {topic, partition}, .committed = committed});
            }
        );
    }
    co_return fetched;
}

/// At some time since the call nobody had taken over: so we know all that has been acknowledged.
rt::Task<Status> Coordinator::check_epoch(SlotPtr slot) {
    LKS_CO_TRY(co_await settle(slot));
    const std::uint64_t epoch = slot->ledger->epoch();
    const auto newest =
        co_await seams_.metadata.get({.key = keys::epoch(slot->key), .partition_key = slot->key});
    if (slot->phase != Phase::ready || !slot->ledger.has_value() ||
        slot->ledger->epoch() != epoch || (!newest.ok() && newest.code() != ErrorCode::not_found)) {
        co_return unavailable("group {} is loading", slot->id);
    }
    if (newest.ok() && newest->version.identity == slot->ledger->identity()) {
        co_return Status();
    }
    drop(slot, KafkaError::not_coordinator);
    co_return fenced("group {} has another coordinator", slot->id);
}

rt::Task<Result<GroupDescription>> Coordinator::describe(std::string group) {
    const auto slot = LKS_CO_TRY(co_await open(std::move(group), Missing::is_an_error));
    co_return slot->group.describe();
}

rt::Task<Result<std::vector<ListedGroup>>> Coordinator::list() {
    std::vector<ListedGroup> listed;
    LKS_CO_TRY(co_await each_slot([&](const SlotPtr& slot) {
        if (slot->phase == Phase::ready && is_known(*slot)) {
            listed.push_back({
                .id = slot->id,
                .protocol_type = slot->group.protocol_type(),
                .state = slot->group.state(),
            });
        }
    }));
    co_return listed;
}

rt::Task<Result<KafkaError>> Coordinator::remove(std::string group) {
    while (true) {
        const auto slot = co_await open(group, Missing::is_an_error);
        if (slot.is(ErrorCode::not_found)) {
            co_return KafkaError::group_id_not_found;
        }
        if (!slot.ok()) {
            co_return slot.error();
        }
        if ((*slot)->group.state() == GroupState::empty) {
            LKS_CO_TRY(co_await settle(*slot));
        }
        switch ((*slot)->group.state()) {
            case GroupState::empty: co_return co_await remove_group(*slot);
            case GroupState::dead: co_await (*slot)->judged.wait(); break;  // by somebody else
            case GroupState::preparing:
            case GroupState::completing:
            case GroupState::stable: co_return KafkaError::non_empty_group;
        }
    }
}

/// Precondition: it is empty.
rt::Task<Result<KafkaError>> Coordinator::remove_group(SlotPtr slot) {
    slot->group.kill();
    const KafkaError removed = co_await store_removal(slot);
    slot->judged.notify_all();
    co_return removed;
}

rt::Task<KafkaError> Coordinator::store_removal(SlotPtr slot) {
    // Behind the commits that are on their way.
    Status stored = co_await store(slot, {});
    if (stored.ok() && slot->ledger.has_value()) {
        stored = co_await store(slot, removal(*slot));
    }
    if (stored.ok() && slot->ledger.has_value() && !slot->ledger->exists()) {
        slot->group = Group(options_);
        co_return KafkaError::none;
    }
    slot->group.revive();
    co_return stored.ok() ? KafkaError::coordinator_not_available : not_stored(stored);
}

/// Of all that is stored of a group.
Coordinator::Op Coordinator::removal(const Slot& slot) {
    Op op{.record = slot.group.record()};
    op.record->life = GroupRecord::Life::deleted;
    slot.ledger->each([&](const std::string& topic, std::int32_t partition, const Committed&) {
        op.offsets.emplace(OffsetKey{topic, partition}, std::nullopt);
    });
    return op;
}

rt::Task<Result<std::pair<KafkaError, std::vector<KafkaError>>>> Coordinator::remove_offsets(
    std::string group, std::vector<OffsetKey> offsets
) {
    const auto slot = LKS_CO_TRY(co_await open(std::move(group), Missing::is_an_error));
    LKS_CO_TRY(co_await settle(slot));
    const bool has_members = slot->group.state() != GroupState::empty;
    std::pair<KafkaError, std::vector<KafkaError>> answer{KafkaError::none, {}};
    if (has_members && !slot->group.is_consumers()) {
        answer.first = KafkaError::non_empty_group;
        co_return answer;
    }
    Op op;
    for (OffsetKey& key : offsets) {
        const bool in_use = has_members && slot->group.subscribed().contains(key.topic);
        answer.second.push_back(in_use ? KafkaError::group_subscribed_to_topic : KafkaError::none);
        if (!in_use && slot->ledger->find(key.topic, key.partition).has_value()) {
            op.offsets.emplace(std::move(key), std::nullopt);
        }
    }
    if (!op.offsets.empty()) {
        answer.first = not_stored(co_await store(slot, std::move(op)));
    }
    co_return answer;
}

void Coordinator::drain() {
    draining_ = true;
    for (const auto& [id, slot] : slots_) {
        Effects effects;
        slot->group.release(KafkaError::not_coordinator, effects);
        apply(slot, std::move(effects));
    }
}

rt::Task<void> Coordinator::close() {
    drain();
    co_await scope_.close();
    for (const auto& [id, slot] : slots_) {
        executor_.cancel(slot->timer);
        seams_.metrics.members.add(-static_cast<std::int64_t>(slot->members_counted));
        seams_.metrics.groups.add(-1);
    }
    seams_.metrics.memory.add(-static_cast<std::int64_t>(bytes_));
    slots_.clear();
}

void Coordinator::abandon() noexcept {
    scope_.abandon();
}

}  // namespace lakestream::kafka::groups
