// SPDX-License-Identifier: Apache-2.0
// The events of a group: who comes, who goes, who asks.
#include "kafka/groups/group.h"

#include <algorithm>

#include "base/assert.h"
#include "base/format.h"

namespace lakestream::kafka::groups {

namespace {

JoinAnswer refusal(KafkaError error, std::string member_id) {
    return {.error = error, .member_id = std::move(member_id)};
}

}  // namespace

std::string_view to_string(GroupState state) noexcept {
    switch (state) {
        case GroupState::empty: return "Empty";
        case GroupState::preparing: return "PreparingRebalance";
        case GroupState::completing: return "CompletingRebalance";
        case GroupState::stable: return "Stable";
        case GroupState::dead: return "Dead";
    }
    return "Unknown";
}

Group::Group(const GroupOptions& options, const GroupRecord& record, Moment now)
    : options_(&options),
      generation_(record.generation),
      protocol_type_(record.protocol_type),
      protocol_name_(record.protocol_name),
      leader_(record.leader),
      empty_since_(record.empty_since) {
    for (const MemberRecord& stored : record.members) {
        Member member{
            .id = stored.id,
            .instance_id = stored.instance_id,
            .client_id = stored.client_id,
            .client_host = stored.client_host,
            .session_timeout = stored.session_timeout,
            .rebalance_timeout = stored.rebalance_timeout,
            .protocols = {{.name = protocol_name_.value_or(""), .metadata = stored.subscription}},
            .assignment = stored.assignment,
            .is_new = false,
            .has_synced = true,
            .deadline = now.mono + stored.session_timeout,
        };
        if (member.instance_id.has_value()) {
            statics_[*member.instance_id] = member.id;
        }
        members_.insert_or_assign(stored.id, std::move(member));
    }
    if (members_.empty()) {
        protocol_name_.reset();
        leader_.reset();
        return;
    }
    state_ = GroupState::stable;
    if (!leader_.has_value() || !members_.contains(*leader_)) {
        leader_ = members_.begin()->first;
    }
    read_subscriptions();
    count_bytes();
}

bool Group::Member::can(std::string_view protocol) const {
    return std::ranges::find(protocols, protocol, &Protocol::name) != protocols.end();
}

KafkaError Group::check_member(const MemberClaim& claim) const {
    if (claim.instance_id.has_value()) {
        const auto found = statics_.find(*claim.instance_id);
        if (found == statics_.end()) {
            return KafkaError::unknown_member_id;
        }
        return found->second == claim.member_id ? KafkaError::none : KafkaError::fenced_instance_id;
    }
    return members_.contains(claim.member_id) ? KafkaError::none : KafkaError::unknown_member_id;
}

KafkaError Group::check_join(const JoinRequest& request) const {
    if (request.session_timeout < options_->session_timeout_min ||
        request.session_timeout > options_->session_timeout_max) {
        return KafkaError::invalid_session_timeout;
    }
    if (state_ == GroupState::dead) {
        return KafkaError::coordinator_not_available;
    }
    if (!supports(request)) {
        return KafkaError::inconsistent_group_protocol;
    }
    return has_room_for(request) ? KafkaError::none : KafkaError::group_max_size_reached;
}

/// All other members share at least one way of assigning with this one.
bool Group::supports(const JoinRequest& request) const {
    if (request.protocol_type.empty() || request.protocols.empty() ||
        request.protocols.size() > protocols_max) {
        return false;
    }
    const auto is_same = [&](const Member& member) {
        return member.id == request.member_id ||
               (request.instance_id.has_value() && member.instance_id == request.instance_id);
    };
    const bool alone =
        std::ranges::all_of(members_, is_same, &decltype(members_)::value_type::second);
    if (alone) {
        return true;
    }
    return request.protocol_type == protocol_type_ &&
           std::ranges::any_of(request.protocols, [&](const Protocol& wanted) {
               return std::ranges::all_of(members_, [&](const auto& entry) {
                   const Member& member = entry.second;
                   return is_same(member) || member.can(wanted.name);
               });
           });
}

void Group::join(Ticket ticket, JoinRequest request, Moment now, Effects& effects) {
    const KafkaError error = check_join(request);
    if (error != KafkaError::none) {
        effects.joined.emplace_back(ticket, refusal(error, std::move(request.member_id)));
    } else if (request.member_id.empty()) {
        join_new(ticket, request, now, effects);
    } else {
        join_known(ticket, request, now, effects);
    }
    count_bytes();
}

void Group::join_new(Ticket ticket, JoinRequest& request, Moment now, Effects& effects) {
    if (request.instance_id.has_value() && statics_.contains(*request.instance_id)) {
        replace_static(ticket, request, now, effects);
    } else if (!request.instance_id.has_value() && request.id_policy == IdPolicy::ask_again) {
        invited_[request.fresh_id] =
            now.mono + std::min<Duration>(request.session_timeout, invitation_patience);
        effects.joined.emplace_back(
            ticket, refusal(KafkaError::member_id_required, std::move(request.fresh_id))
        );
    } else {
        add_member(ticket, request, now, effects);
    }
}

void Group::join_known(Ticket ticket, JoinRequest& request, Moment now, Effects& effects) {
    if (!request.instance_id.has_value() && invited_.erase(request.member_id) > 0) {
        request.fresh_id = request.member_id;
        return add_member(ticket, request, now, effects);
    }
    const KafkaError error =
        check_member({.member_id = request.member_id, .instance_id = request.instance_id});
    if (error != KafkaError::none) {
        effects.joined.emplace_back(ticket, refusal(error, std::move(request.member_id)));
        return;
    }
    Member& member = members_.at(request.member_id);
    const bool unchanged = member.protocols == request.protocols;
    // One whose answer was lost asks again; a leader of a stable group wants to assign anew.
    if (unchanged && (state_ == GroupState::completing ||
                      (state_ == GroupState::stable && leader_ != member.id))) {
        member.deadline = now.mono + member.session_timeout;
        effects.joined.emplace_back(ticket, join_answer(member));
        return;
    }
    update_member(member, ticket, request, now, effects);
    if (state_ == GroupState::preparing) {
        join_or_wait(now, effects);
    } else {
        prepare_rebalance(now, effects);
    }
}

void Group::add_member(Ticket ticket, JoinRequest& request, Moment now, Effects& effects) {
    Member member{
        .id = request.fresh_id,
        .instance_id = request.instance_id,
        .client_id = std::move(request.client_id),
        .client_host = std::move(request.client_host),
        .session_timeout = request.session_timeout,
        .rebalance_timeout = request.rebalance_timeout,
        .protocols = std::move(request.protocols),
        .joining = ticket,
        .deadline = now.mono + std::max(new_member_patience, request.rebalance_timeout),
    };
    if (members_.empty()) {
        protocol_type_ = std::move(request.protocol_type);
    }
    if (!leader_.has_value()) {
        leader_ = member.id;
    }
    if (member.instance_id.has_value()) {
        statics_[*member.instance_id] = member.id;
    }
    const std::string id = member.id;
    members_.insert_or_assign(id, std::move(member));
    newcomers_ = true;
    if (state_ == GroupState::preparing) {
        join_or_wait(now, effects);
    } else {
        prepare_rebalance(now, effects);
    }
}

void Group::update_member(
    Member& member, Ticket ticket, JoinRequest& request, Moment now, Effects& effects
) {
    answer_join(member, refusal(KafkaError::rebalance_in_progress, member.id), effects);
    if (members_.size() == 1) {
        protocol_type_ = std::move(request.protocol_type);
    }
    member.joining = ticket;
    member.session_timeout = request.session_timeout;
    member.rebalance_timeout = request.rebalance_timeout;
    member.protocols = std::move(request.protocols);
    member.deadline = now.mono + (member.is_new ? new_member_patience : member.session_timeout);
}

bool Group::changes_assignment(const Member& before, const Member& after) const {
    if (choose_protocol() != protocol_name_) {
        return true;
    }
    if (!is_consumers()) {
        return false;
    }
    // The rest of a subscription, such as what the member still owns, changes with every restart.
    const auto sorted = [](std::optional<std::vector<std::string>> topics) {
        std::ranges::sort(topics.has_value() ? *topics : topics.emplace());
        return topics;
    };
    return sorted(subscribed_topics(metadata_of(before))) !=
           sorted(subscribed_topics(metadata_of(after)));
}

/// A static member came back under a new id, before or after the old one's session ended.
void Group::replace_static(Ticket ticket, JoinRequest& request, Moment now, Effects& effects) {
    const std::string old_id = statics_.at(*request.instance_id);
    const std::optional<std::string> old_leader = leader_;
    Member before = std::move(members_.extract(old_id).mapped());
    answer_join(before, refusal(KafkaError::fenced_instance_id, old_id), effects);
    answer_sync(before, {.error = KafkaError::fenced_instance_id}, effects);
    statics_[*request.instance_id] = request.fresh_id;
    if (leader_ == old_id) {
        leader_ = request.fresh_id;
    }
    Member& member = members_[request.fresh_id] = before;
    member.id = request.fresh_id;
    member.client_id = std::move(request.client_id);
    member.client_host = std::move(request.client_host);
    update_member(member, ticket, request, now, effects);
    if (state_ == GroupState::preparing) {
        return join_or_wait(now, effects);
    }
    if (state_ != GroupState::stable || changes_assignment(before, member)) {
        return prepare_rebalance(now, effects);
    }
    member.joining.reset();
    JoinAnswer answer = join_answer(member);
    if (request.skip_assignment == SkipAssignment::supported) {
        answer.skip_assignment = leader_ == member.id;
    } else {
        // Such a client would assign if it were told that it is the leader.
        answer.leader = old_leader.value_or("");
        answer.members.clear();
    }
    replacements_.push_back({ticket, request_store(effects), std::move(answer)});
}

void Group::sync(Ticket ticket, SyncRequest request, Moment now, Effects& effects) {
    const auto refuse = [&](KafkaError error) {
        effects.synced.emplace_back(ticket, SyncAnswer{.error = error});
    };
    if (state_ == GroupState::dead) {
        return refuse(KafkaError::coordinator_not_available);
    }
    const KafkaError error = check_member(request.member);
    if (error != KafkaError::none) {
        return refuse(error);
    }
    if (request.member.generation != generation_) {
        return refuse(KafkaError::illegal_generation);
    }
    if (request.protocol_type.value_or(protocol_type_) != protocol_type_ ||
        (request.protocol_name.has_value() && protocol_name_.has_value() &&
         request.protocol_name != protocol_name_)) {
        return refuse(KafkaError::inconsistent_group_protocol);
    }
    if (state_ == GroupState::preparing) {
        return refuse(KafkaError::rebalance_in_progress);
    }
    Member& member = members_.at(request.member.member_id);
    member.has_synced = true;
    member.deadline = now.mono + member.session_timeout;
    if (state_ == GroupState::stable) {
        effects.synced.emplace_back(ticket, sync_answer(member));
        return;
    }
    answer_sync(member, {.error = KafkaError::rebalance_in_progress}, effects);
    member.syncing = ticket;
    if (leader_ == member.id && !storing_.has_value()) {
        assign(request.assignments, now, effects);
    }
}

void Group::assign(
    std::vector<std::pair<std::string, Bytes>>& assignments, Moment now, Effects& effects
) {
    for (auto& [id, assignment] : assignments) {
        const auto found = members_.find(id);
        if (found != members_.end()) {
            found->second.assignment = assignment.compact();
        }
    }
    count_bytes();
    if (bytes_ > options_->group_bytes_max) {
        effects.too_large = bytes_;
        end_generation(KafkaError::unknown_server_error, effects);
        return prepare_rebalance(now, effects);
    }
    storing_ = request_store(effects);
}

KafkaError Group::heartbeat(const MemberClaim& claim, Moment now) {
    if (state_ == GroupState::dead) {
        return KafkaError::coordinator_not_available;
    }
    const KafkaError error = check_member(claim);
    if (error != KafkaError::none) {
        return error;
    }
    if (claim.generation != generation_) {
        return KafkaError::illegal_generation;
    }
    Member& member = members_.at(claim.member_id);
    if (!member.is_new) {
        member.deadline = now.mono + member.session_timeout;
    }
    return state_ == GroupState::preparing ? KafkaError::rebalance_in_progress : KafkaError::none;
}

KafkaError Group::leave(const MemberClaim& claim, Moment now, Effects& effects) {
    if (state_ == GroupState::dead) {
        return KafkaError::coordinator_not_available;
    }
    std::string id = claim.member_id;
    if (claim.instance_id.has_value() && id.empty()) {
        const auto found = statics_.find(*claim.instance_id);
        id = found != statics_.end() ? found->second : std::string();
    }
    if (!claim.instance_id.has_value() && invited_.erase(id) > 0) {
        join_or_wait(now, effects);
        count_bytes();
        return KafkaError::none;
    }
    const KafkaError error =
        id.empty() ? KafkaError::unknown_member_id
                   : check_member({.member_id = id, .instance_id = claim.instance_id});
    if (error == KafkaError::none) {
        remove_member(id, KafkaError::unknown_member_id, effects);
        membership_changed(now, effects);
        count_bytes();
    }
    return error;
}

KafkaError Group::check_commit(const MemberClaim& claim, Moment now) {
    if (state_ == GroupState::dead) {
        return KafkaError::coordinator_not_available;
    }
    const bool is_stranger =
        claim.generation < 0 && claim.member_id.empty() && !claim.instance_id.has_value();
    if (claim.generation < 0 && state_ == GroupState::empty) {
        return KafkaError::none;
    }
    if (is_stranger) {
        return KafkaError::unknown_member_id;
    }
    const KafkaError error = check_member(claim);
    if (error != KafkaError::none) {
        return error;
    }
    if (claim.generation != generation_) {
        return KafkaError::illegal_generation;
    }
    if (state_ == GroupState::completing) {
        return KafkaError::rebalance_in_progress;
    }
    Member& member = members_.at(claim.member_id);
    if (!member.is_new) {
        member.deadline = now.mono + member.session_timeout;
    }
    return KafkaError::none;
}

void Group::stored(StoreId id, KafkaError error, Moment now, Effects& effects) {
    std::erase_if(replacements_, [&](Replacement& replacement) {
        if (replacement.store > id) {
            return false;
        }
        effects.joined.emplace_back(
            replacement.ticket,
            error == KafkaError::none ? std::move(replacement.answer)
                                      : refusal(error, replacement.answer.member_id)
        );
        return true;
    });
    if (!storing_.has_value() || *storing_ > id) {
        return;
    }
    storing_.reset();
    if (error != KafkaError::none) {
        end_generation(error, effects);
        return prepare_rebalance(now, effects);
    }
    state_ = GroupState::stable;
    for (auto& [member_id, member] : members_) {
        if (member.syncing.has_value()) {
            member.deadline = now.mono + member.session_timeout;
            answer_sync(member, sync_answer(member), effects);
        }
    }
}

void Group::release(KafkaError error, Effects& effects) {
    for (auto& [id, member] : members_) {
        answer_join(member, refusal(error, id), effects);
        answer_sync(member, {.error = error}, effects);
    }
    for (Replacement& replacement : std::exchange(replacements_, {})) {
        effects.joined.emplace_back(
            replacement.ticket, refusal(error, std::move(replacement.answer.member_id))
        );
    }
}

void Group::kill() {
    LKS_ASSERT(state_ == GroupState::empty && members_.empty());
    invited_.clear();
    count_bytes();
    state_ = GroupState::dead;
}

void Group::revive() {
    LKS_ASSERT(state_ == GroupState::dead);
    state_ = GroupState::empty;
}

}  // namespace lakestream::kafka::groups
