// SPDX-License-Identifier: Apache-2.0
// How a group comes from one generation to the next, and what time does to it.
#include <algorithm>

#include "base/assert.h"
#include "base/format.h"
#include "kafka/groups/group.h"

namespace lakestream::kafka::groups {

void Group::remove_member(const std::string& id, KafkaError error, Effects& effects) {
    const auto found = members_.find(id);
    Member& member = found->second;
    answer_join(member, {.error = error, .member_id = member.id}, effects);
    answer_sync(member, {.error = error}, effects);
    if (member.instance_id.has_value()) {
        statics_.erase(*member.instance_id);
    }
    members_.erase(found);
    if (leader_.has_value() && !members_.contains(*leader_)) {
        leader_.reset();
        if (!members_.empty()) {
            leader_ = members_.begin()->first;
        }
    }
}

void Group::membership_changed(Moment now, Effects& effects) {
    if (state_ == GroupState::preparing) {
        join_or_wait(now, effects);
    } else if (state_ == GroupState::completing || state_ == GroupState::stable) {
        prepare_rebalance(now, effects);
    }
}

void Group::prepare_rebalance(Moment now, Effects& effects) {
    if (state_ == GroupState::completing) {
        end_generation(KafkaError::rebalance_in_progress, effects);
    }
    sync_deadline_.reset();
    initial_ = state_ == GroupState::empty;
    state_ = GroupState::preparing;
    if (initial_) {
        newcomers_ = false;
        join_deadline_ = now.mono + options_->initial_rebalance_delay;
        initial_left_ =
            std::max(rebalance_timeout() - options_->initial_rebalance_delay, Duration(0));
        return;
    }
    join_deadline_ = now.mono + rebalance_timeout();
    join_or_wait(now, effects);
}

void Group::join_or_wait(Moment now, Effects& effects) {
    if (state_ == GroupState::preparing && !initial_ && all_joined()) {
        complete_join(now, effects);
    }
}

bool Group::all_joined() const {
    return invited_.empty() && std::ranges::all_of(members_, [](const auto& entry) {
               return entry.second.joining.has_value();
           });
}

/// The leader stays if it has joined; else any that has.
bool Group::elect_leader() {
    if (leader_.has_value() && members_.at(*leader_).joining.has_value()) {
        return true;
    }
    const auto joined = std::ranges::find_if(members_, [](const auto& entry) {
        return entry.second.joining.has_value();
    });
    if (joined == members_.end()) {
        return false;
    }
    leader_ = joined->first;
    return true;
}

void Group::complete_join(Moment now, Effects& effects) {
    std::vector<std::string> absent;
    for (const auto& [id, member] : members_) {
        if (!member.joining.has_value() && !member.instance_id.has_value()) {
            absent.push_back(id);
        }
    }
    for (const std::string& id : absent) {
        remove_member(id, KafkaError::unknown_member_id, effects);
    }
    if (!members_.empty() && !elect_leader()) {
        // Only static members, and none has joined: their sessions decide.
        join_deadline_ = now.mono + std::max(rebalance_timeout(), absence_pause);
        return;
    }
    join_deadline_.reset();
    initial_ = false;
    ++generation_;
    ++effects.rebalances;
    if (members_.empty()) {
        return become_empty(now, effects);
    }
    protocol_name_ = choose_protocol();
    read_subscriptions();
    state_ = GroupState::completing;
    sync_deadline_ = now.mono + rebalance_timeout();
    for (auto& [id, member] : members_) {
        member.assignment = {};
        member.has_synced = false;
        member.is_new = false;
        member.deadline = now.mono + member.session_timeout;
        answer_join(member, join_answer(member), effects);
    }
}

void Group::become_empty(Moment now, Effects& effects) {
    state_ = GroupState::empty;
    leader_.reset();
    protocol_name_.reset();
    subscribed_.clear();
    count_subscribed();
    empty_since_ = now.wall;
    request_store(effects);
}

/// Nobody gets an assignment of this generation any more.
void Group::end_generation(KafkaError error, Effects& effects) {
    storing_.reset();
    for (auto& [id, member] : members_) {
        member.assignment = {};
        answer_sync(member, {.error = error}, effects);
    }
}

/// Each member votes for its first among those that all can do; the first of the most voted wins.
std::string Group::choose_protocol() const {
    const auto all_can = [&](const std::string& name) {
        return std::ranges::all_of(members_, [&](const auto& entry) {
            return entry.second.can(name);
        });
    };
    std::map<std::string, std::size_t> votes;
    std::map<std::string, bool> known;
    for (const auto& [id, member] : members_) {
        for (const Protocol& protocol : member.protocols) {
            const auto [at, is_new] = known.try_emplace(protocol.name, false);
            if (is_new) {
                at->second = all_can(protocol.name);
            }
            if (at->second) {
                ++votes[protocol.name];
                break;
            }
        }
    }
    LKS_ASSERT(!votes.empty());  // `supports` sees to it
    return std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; })->first;
}

void Group::read_subscriptions() {
    subscribed_.clear();
    knows_subscriptions_ = is_consumers();
    for (const auto& [id, member] : members_) {
        const auto topics = subscribed_topics(metadata_of(member));
        knows_subscriptions_ = knows_subscriptions_ && topics.has_value();
        if (is_consumers() && topics.has_value()) {
            subscribed_.insert(topics->begin(), topics->end());
        }
    }
    count_subscribed();
}

Duration Group::rebalance_timeout() const {
    Duration longest{0};
    for (const auto& [id, member] : members_) {
        longest = std::max(longest, member.rebalance_timeout);
    }
    return longest;
}

void Group::tick(Moment now, Effects& effects) {
    expire_members(now, effects);
    expire_unsynced(now, effects);
    if (state_ != GroupState::preparing || *join_deadline_ > now.mono) {
        return;
    }
    if (initial_ && newcomers_ && initial_left_ > Duration(0)) {
        // Others keep coming: wait once more, up to the rebalance time-out in all.
        newcomers_ = false;
        const Duration delay = std::min(options_->initial_rebalance_delay, initial_left_);
        initial_left_ -= delay;
        join_deadline_ = now.mono + delay;
    } else {
        complete_join(now, effects);
    }
    count_bytes();
}

void Group::expire_members(Moment now, Effects& effects) {
    const std::size_t invited =
        std::erase_if(invited_, [&](const auto& entry) { return entry.second <= now.mono; });
    std::vector<std::string> expired;
    for (const auto& [id, member] : members_) {
        // Who waits for an answer cannot heartbeat.
        const bool waits =
            !member.is_new && (member.joining.has_value() || member.syncing.has_value());
        if (member.deadline <= now.mono && !waits) {
            expired.push_back(id);
        }
    }
    effects.expired += expired.size();
    for (const std::string& id : expired) {
        remove_member(id, KafkaError::unknown_member_id, effects);
    }
    if (!expired.empty()) {
        membership_changed(now, effects);
    } else if (invited > 0) {
        join_or_wait(now, effects);
    }
    if (!expired.empty() || invited > 0) {
        count_bytes();
    }
}

/// Who has been told of a generation and does not ask for its part holds up the others.
void Group::expire_unsynced(Moment now, Effects& effects) {
    if (!sync_deadline_.has_value() || *sync_deadline_ > now.mono) {
        return;
    }
    sync_deadline_.reset();
    std::vector<std::string> silent;
    for (const auto& [id, member] : members_) {
        if (!member.has_synced) {
            silent.push_back(id);
        }
    }
    effects.expired += silent.size();
    for (const std::string& id : silent) {
        remove_member(id, KafkaError::unknown_member_id, effects);
    }
    if (!silent.empty()) {
        membership_changed(now, effects);
        count_bytes();
    }
}

std::optional<MonoTime> Group::next_deadline() const {
    MonoTime next = MonoTime::max();
    for (const auto& [id, deadline] : invited_) {
        next = std::min(next, deadline);
    }
    for (const auto& [id, member] : members_) {
        if (member.is_new || (!member.joining.has_value() && !member.syncing.has_value())) {
            next = std::min(next, member.deadline);
        }
    }
    next = std::min(next, join_deadline_.value_or(MonoTime::max()));
    next = std::min(next, sync_deadline_.value_or(MonoTime::max()));
    return next == MonoTime::max() ? std::nullopt : std::optional(next);
}

Bytes Group::metadata_of(const Member& member) const {
    const auto found = std::ranges::find(
        member.protocols, protocol_name_.value_or(std::string()), &Protocol::name
    );
    return found != member.protocols.end() ? found->metadata : Bytes();
}

JoinAnswer Group::join_answer(const Member& member) const {
    JoinAnswer answer{
        .generation = generation_,
        .protocol_type = protocol_type_,
        .protocol_name = protocol_name_,
        .leader = leader_.value_or(std::string()),
        .member_id = member.id,
    };
    if (leader_ == member.id) {
        for (const auto& [id, other] : members_) {
            answer.members.push_back({id, other.instance_id, metadata_of(other)});
        }
    }
    return answer;
}

SyncAnswer Group::sync_answer(const Member& member) const {
    return {
        .protocol_type = protocol_type_,
        .protocol_name = protocol_name_,
        .assignment = member.assignment,
    };
}

void Group::answer_join(Member& member, JoinAnswer answer, Effects& effects) {
    if (const auto ticket = std::exchange(member.joining, std::nullopt)) {
        effects.joined.emplace_back(*ticket, std::move(answer));
    }
}

void Group::answer_sync(Member& member, SyncAnswer answer, Effects& effects) {
    if (const auto ticket = std::exchange(member.syncing, std::nullopt)) {
        effects.synced.emplace_back(*ticket, std::move(answer));
    }
}

StoreId Group::request_store(Effects& effects) {
    const StoreId id{++last_store_};
    effects.store = Effects::Store{.id = id, .record = record()};
    return id;
}

GroupRecord Group::record() const {
    GroupRecord record{
        .generation = generation_,
        .empty_since = empty_since_,
        .protocol_type = protocol_type_,
        .protocol_name = protocol_name_,
        .leader = leader_,
    };
    for (const auto& [id, member] : members_) {
        record.members.push_back({
            .id = id,
            .instance_id = member.instance_id,
            .client_id = member.client_id,
            .client_host = member.client_host,
            .session_timeout = member.session_timeout,
            .rebalance_timeout = member.rebalance_timeout,
            .subscription = metadata_of(member),
            .assignment = member.assignment,
        });
    }
    return record;
}

GroupDescription Group::describe() const {
    const bool stable = state_ == GroupState::stable;
    GroupDescription description{
        .state = state_,
        .protocol_type = protocol_type_,
        .protocol_name = stable ? protocol_name_.value_or(std::string()) : std::string(),
    };
    for (const auto& [id, member] : members_) {
        description.members.push_back({
            .id = id,
            .instance_id = member.instance_id,
            .client_id = member.client_id,
            .client_host = member.client_host,
            .metadata = stable ? metadata_of(member) : Bytes(),
            .assignment = stable ? member.assignment : Bytes(),
        });
    }
    return description;
}

std::string Group::broken_invariant() const {
    if ((state_ == GroupState::empty || state_ == GroupState::dead) != members_.empty() &&
        state_ != GroupState::preparing) {
        return "members and state differ";
    }
    if (join_deadline_.has_value() != (state_ == GroupState::preparing)) {
        return "only a group that prepares has a join deadline";
    }
    if (storing_.has_value() && state_ != GroupState::completing) {
        return "an assignment is stored while completing only";
    }
    if (leader_.has_value() != !members_.empty() ||
        (leader_.has_value() && !members_.contains(*leader_))) {
        return "members have one leader among them";
    }
    std::size_t statics = 0;
    for (const auto& [id, member] : members_) {
        if (std::string broken = broken_member(id, member); !broken.empty()) {
            return broken;
        }
        statics += member.instance_id.has_value() ? 1 : 0;
    }
    return statics == statics_.size() ? std::string() : "an instance has no member";
}

std::string Group::broken_member(const std::string& id, const Member& member) const {
    if (member.joining.has_value() && state_ != GroupState::preparing) {
        return fmt::format("{} waits to join while {}", id, to_string(state_));
    }
    if (member.syncing.has_value() && state_ != GroupState::completing) {
        return fmt::format("{} waits to sync while {}", id, to_string(state_));
    }
    if (member.is_new && !member.joining.has_value()) {
        return fmt::format("{} has never been answered and does not wait", id);
    }
    if (invited_.contains(id)) {
        return fmt::format("{} is a member and invited", id);
    }
    const auto instance =
        member.instance_id.has_value() ? statics_.find(*member.instance_id) : statics_.end();
    if (member.instance_id.has_value() && (instance == statics_.end() || instance->second != id)) {
        return fmt::format("instance {} is not {}", *member.instance_id, id);
    }
    return {};
}

}  // namespace lakestream::kafka::groups
