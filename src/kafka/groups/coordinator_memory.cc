// SPDX-License-Identifier: Apache-2.0
// What groups may take of a node's memory, and who leaves it for others.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "kafka/groups/coordinator.h"

namespace lakestream::kafka::groups {

namespace {

constexpr std::size_t slot_bytes = 2048;   // of a group in memory without members and offsets
constexpr std::size_t member_bytes = 640;  // of a member, but for what it says and gets
constexpr std::size_t missed_bytes = 64;   // of a topic that the last sweep did not find
constexpr Duration pause = 1s;             // between two looks that found nothing

}  // namespace

void Coordinator::account(Slot& slot) {
    std::size_t bytes = 0;
    if (slot.phase == Phase::ready) {
        bytes = slot_bytes + slot.group.bytes() + slot.group.members() * member_bytes +
                slot.topics_missed.size() * missed_bytes +
                (slot.ledger.has_value() ? slot.ledger->bytes() : 0);
    }
    const std::size_t before = std::exchange(slot.bytes_counted, bytes);
    bytes_ += bytes - before;
    seams_.metrics.memory.add(static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(before));
}

bool Coordinator::has_room(std::size_t more) {
    const auto fits = [&] { return bytes_ + more + slot_bytes <= options_.memory_max; };
    if (!fits()) {
        make_room();
    }
    if (!fits()) {
        seams_.metrics.refused.add();
    }
    return fits();
}

Status Coordinator::has_place(const std::string& group) {
    if (scope_.stopping()) {
        return cancelled("the node is stopping");
    }
    if (slots_.size() >= options_.groups_max) {
        make_room();
    }
    if (slots_.size() >= options_.groups_max) {
        return exhausted("{} groups are in memory: no more are taken", slots_.size());
    }
    if (!has_room(group.size())) {
        return exhausted(
            "groups take {} bytes of {}: no more are taken", bytes_, options_.memory_max
        );
    }
    return {};
}

/// Nobody would miss it in memory: whoever was told an id that is forgotten asks for another one.
/// Precondition: no request works with it.
bool Coordinator::is_idle(const Slot& slot) {
    return slot.phase == Phase::ready && slot.ledger.has_value() && !slot.writing &&
           slot.queue.empty() && slot.group.state() == GroupState::empty;
}

/// An eighth becomes free if it can, of what was used longest ago: so a look at all groups is rare.
void Coordinator::make_room() {
    if (executor_.now() < make_room_again_) {
        return;
    }
    std::vector<std::pair<MonoTime, SlotPtr>> idle;
    for (const auto& [id, slot] : slots_) {
        if (slot.use_count() == 1 && is_idle(*slot)) {
            idle.emplace_back(slot->used, slot);
        }
    }
    std::ranges::sort(idle, {}, [](const auto& each) {
        return std::pair(each.first, each.second->id);
    });
    const std::size_t groups = options_.groups_max - (options_.groups_max + 7) / 8;
    const std::size_t bytes = options_.memory_max - options_.memory_max / 8;
    for (const auto& [used, slot] : idle) {
        if (bytes_ <= bytes && slots_.size() <= groups) {
            return;
        }
        seams_.metrics.evicted.add();
        drop(slot, KafkaError::not_coordinator);
        if (slot->ledger->is_over()) {
            scope_.spawn(purge(slot));  // nobody would find its epoch again
        }
    }
    log::warn("kafka", "groups_memory_full groups={} bytes={}", slots_.size(), bytes_);
    make_room_again_ = executor_.now() + pause;
}

}  // namespace lakestream::kafka::groups
