// SPDX-License-Identifier: Apache-2.0
// What groups write: one batch in flight for each group, and what to do when nobody knows whether
// it was applied.
#include <algorithm>
#include <chrono>

#include "base/format.h"
#include "base/log.h"
#include "kafka/groups/coordinator.h"

namespace lakestream::kafka::groups {

namespace {

constexpr std::size_t batch_offsets_max = 20'000;
constexpr std::size_t batch_bytes_max = 2 << 20;  // of offsets; a group's record comes on top
constexpr std::size_t offset_bytes = 256;         // of one, but for key and metadata
constexpr std::size_t purge_max = 20'000;
constexpr int repeats_max = 5;
constexpr Duration pause_min = 10ms;
constexpr Duration pause_max = 1s;

}  // namespace

void Coordinator::enqueue(const SlotPtr& slot, Op op) {
    if (scope_.stopping() && !slot->writing) {
        if (op.done) {
            op.done(cancelled("the node is stopping"));
        }
        return;
    }
    slot->queue.push_back(std::move(op));
    if (!std::exchange(slot->writing, true)) {
        scope_.spawn(write_all(slot));
    }
}

rt::Future<Status> Coordinator::store(const SlotPtr& slot, Op op) {
    rt::Promise<Status> promise;
    auto stored = promise.future();
    if (slot->phase != Phase::ready) {
        promise.set(fenced("group {} has another coordinator", slot->id));
        return stored;
    }
    op.deadline = executor_.now() + options_.commit_timeout;
    op.done = [promise = std::move(promise)](const Status& status) mutable { promise.set(status); };
    enqueue(slot, std::move(op));
    return stored;
}

rt::Task<Status> Coordinator::settle(SlotPtr slot) {
    if (slot->ledger.has_value()) {
        co_return Status();
    }
    LKS_CO_TRY(co_await store(slot, {}));
    // Given up again before we ran: rare enough to let the client ask again.
    co_return slot->ledger.has_value() ? Status() : unavailable("group {} is loading", slot->id);
}

rt::Task<void> Coordinator::write_all(SlotPtr slot) {
    do {
        co_await write_queue(slot);
        if (slot->phase == Phase::ready) {
            co_await purge(slot);
        }
    } while (!slot->queue.empty() && slot->phase == Phase::ready);
    slot->writing = false;
}

rt::Task<void> Coordinator::write_queue(SlotPtr slot) {
    Duration pause = pause_min;
    while (!slot->queue.empty()) {
        const Status written = co_await write_next(slot);
        if (written.ok()) {
            pause = pause_min;
            continue;
        }
        log::warn("kafka", "group_not_stored group={} error={}", slot->id, written.error());
        if (written.is(ErrorCode::fenced)) {
            seams_.metrics.fenced.add();
            drop(slot, KafkaError::not_coordinator);
            break;
        }
        if (scope_.stopping()) {
            fail_ops(*slot, written.error(), MonoTime::max());
            break;
        }
        fail_ops(*slot, written.error(), executor_.now());
        if (!slot->queue.empty()) {
            co_await scope_.stop().sleep_until(executor_.now() + pause);
            pause = std::min(pause * 2, pause_max);
        }
    }
}

Coordinator::Gathered Coordinator::gather(const Slot& slot) const {
    Gathered gathered;
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (const Op& op : slot.queue) {
        if (op.record.has_value()) {
            gathered.changes.record = op.record;
        }
        for (const auto& [key, to] : op.offsets) {
            bytes += offset_bytes + slot.key.size() + key.topic.size() +
                     (to.has_value() ? 2 * to->metadata.size() : 0);
            if (++count > batch_offsets_max || bytes > batch_bytes_max) {
                break;
            }
            gathered.changes.offsets.insert_or_assign(key, to);
            ++gathered.offsets;
        }
        if (gathered.offsets < op.offsets.size()) {
            break;
        }
        gathered.offsets = 0;
        ++gathered.ops;
    }
    return gathered;
}

void Coordinator::finish(Slot& slot, const Gathered& written) {
    for (std::size_t i = 0; i < written.ops; ++i) {
        Op op = std::move(slot.queue.front());
        slot.queue.pop_front();
        if (op.done) {
            op.done(Status());
        }
    }
    if (written.offsets > 0) {
        auto& rest = slot.queue.front().offsets;
        rest.erase(
            rest.begin(), std::next(rest.begin(), static_cast<std::ptrdiff_t>(written.offsets))
        );
    }
}

void Coordinator::fail_ops(Slot& slot, const Error& error, MonoTime deadline_max) {
    std::deque<Op> failed;
    std::erase_if(slot.queue, [&](Op& op) {
        const bool fails = op.deadline <= deadline_max;
        if (fails) {
            failed.push_back(std::move(op));
        }
        return fails;
    });
    for (Op& op : failed) {
        if (op.done) {
            op.done(error);
        }
    }
}

rt::Task<Status> Coordinator::write_next(SlotPtr slot) {
    if (!slot->ledger.has_value()) {
        LKS_CO_TRY(co_await retake(slot));
    }
    Gathered gathered = gather(*slot);
    const bool keeps_offsets = std::ranges::any_of(
        gathered.changes.offsets, [](const auto& change) { return change.second.has_value(); }
    );
    if (keeps_offsets && !slot->ledger->exists() && !gathered.changes.record.has_value()) {
        GroupRecord record = slot->group.record();
        if (slot->group.state() != GroupState::stable) {
            record.members.clear();
        }
        if (record.empty_since == WallTime()) {
            record.empty_since = now().wall;
        }
        gathered.changes.record = std::move(record);
    }
    if (!gathered.changes.empty() || slot->ledger->has_long_memory()) {
        LKS_CO_TRY(co_await write_batch(slot, gathered.changes));
    }
    account(*slot);
    if (slot->phase != Phase::ready) {  // meanwhile; what was in the queue has been answered
        co_return fenced("group {} has another coordinator", slot->id);
    }
    finish(*slot, gathered);
    co_return Status();
}

rt::Task<Status> Coordinator::write_batch(SlotPtr slot, Changes changes) {
    meta::MetadataStore& store = seams_.metadata;
    for (int i = 0; i < repeats_max; ++i) {
        const auto done =
            co_await store.write(store.shard_of(slot->key), slot->ledger->build(changes));
        if (!done.ok()) {
            if (done.is(ErrorCode::outcome_unknown)) {
                // It may still be applied, at any time: only a new epoch makes that harmless.
                slot->ledger.reset();
            }
            co_return done.error();
        }
        switch (slot->ledger->settle(changes, *done)) {
            case Ledger::Verdict::done: co_return Status();
            case Ledger::Verdict::fenced:
                co_return fenced("group {} was taken over by another coordinator", slot->id);
            case Ledger::Verdict::again: LKS_CO_TRY(co_await look_up_stale(slot)); break;
        }
    }
    co_return unavailable("others keep writing the records of group {}", slot->id);
}

rt::Task<Status> Coordinator::look_up_stale(SlotPtr slot) {
    const std::vector<std::string> stale = slot->ledger->stale();
    for (const std::string& key : stale) {
        const auto found = co_await seams_.metadata.get({.key = key, .partition_key = slot->key});
        if (!found.ok() && found.code() != ErrorCode::not_found) {
            co_return found.error();
        }
        slot->ledger->learn(key, found.ok() ? std::optional(found->version.id) : std::nullopt);
    }
    co_return Status();
}

rt::Task<Status> Coordinator::retake(SlotPtr slot) {
    auto taken = co_await take_over(
        seams_.metadata,
        slot->key,
        {.coordinator = identity_, .number = ++takeovers_, .after = slot->loaded_as}
    );
    seams_.metrics.takeovers.add();
    if (!taken.ok()) {
        co_return std::move(taken).error();
    }
    // The members are those we know: what the store has of them is older, and is written again.
    slot->ledger = std::move(taken->ledger);
    co_return Status();
}

/// Whether nothing of it is stored, nobody is in it, and nobody has been told an id.
bool Coordinator::is_over(const Slot& slot) {
    return slot.ledger.has_value() && slot.ledger->is_over() && slot.queue.empty() &&
           slot.group.idle();
}

/// Precondition: nobody asked for more than to find it.
void Coordinator::leave_nothing(const SlotPtr& slot) {
    if (is_over(*slot) && !slot->writing) {
        enqueue(slot, {.deadline = executor_.now(), .done = {}});  // and then it is purged
    }
}

/// Deletes what was removed; with the last of a group that is over, its epoch. Such a group leaves
/// memory before that: who asks for it begins another one, which the delete cannot harm.
rt::Task<void> Coordinator::purge(SlotPtr slot) {
    meta::MetadataStore& store = seams_.metadata;
    while (slot->ledger.has_value() && slot->queue.empty()) {
        const bool is_gone = slot->phase != Phase::ready || is_over(*slot);
        meta::ShardBatch batch = slot->ledger->build_purge(
            purge_max, is_gone ? Purge::the_epoch_too : Purge::what_was_removed
        );
        if (batch.deletes.empty()) {
            co_return;
        }
        const bool is_end = slot->ledger->is_ending();
        if (is_end && slot->phase == Phase::ready) {
            drop(slot, KafkaError::not_coordinator);
        }
        const auto done = co_await store.write(store.shard_of(slot->key), std::move(batch));
        if (!done.ok() || !slot->ledger->settle_purge(*done) || is_end) {
            co_return;  // the next write, load or sweep goes on
        }
        account(*slot);
    }
}

}  // namespace lakestream::kafka::groups
