// SPDX-License-Identifier: Apache-2.0
// The rules of KIP-227, as Kafka's broker applies them.
#include "kafka/fetch_sessions.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lakestream::kafka {

namespace {

using codec::kafka::FetchRequest;

constexpr std::int32_t initial_epoch = 0;  // a full request that wants a new session
constexpr std::int32_t final_epoch = -1;   // a full request that wants none
constexpr std::int16_t first_version_by_id = 13;

std::int32_t epoch_after(std::int32_t epoch) {
    return epoch == std::numeric_limits<std::int32_t>::max() ? 1 : epoch + 1;
}

template <class Visitor>
void each_target(const FetchRequest& request, Visitor&& visitor) {
    for (const FetchRequest::FetchTopic& topic : request.topics) {
        for (const FetchRequest::FetchPartition& partition : topic.partitions) {
            visitor(FetchTarget{
                .topic = topic.topic,
                .topic_id = topic.topic_id,
                .partition = partition.partition,
                .offset = partition.fetch_offset,
                .bytes_max = partition.partition_max_bytes,
                .leader_epoch = partition.current_leader_epoch,
            });
        }
    }
}

FetchPlan full_plan(const FetchRequest& request, FetchPlan::Session session) {
    FetchPlan plan{.session = session, .targets = {}};
    each_target(request, [&](FetchTarget target) { plan.targets.push_back(std::move(target)); });
    return plan;
}

FetchPlan failed_plan(KafkaError error) {
    return FetchPlan{.error = error, .targets = {}};
}

}  // namespace

FetchSessions::Key FetchSessions::key_of(const FetchTarget& target) {
    return {target.topic, target.topic_id, target.partition};
}

FetchPlan FetchSessions::open(const FetchRequest& request, std::int16_t version, MonoTime now) {
    const auto found = sessions_.find(request.session_id);
    if (request.session_epoch == initial_epoch || request.session_epoch == final_epoch) {
        if (found != sessions_.end()) {
            remove(found);
        }
        const bool wanted = request.session_epoch == initial_epoch;
        return full_plan(request, wanted ? FetchPlan::Session::make : FetchPlan::Session::none);
    }
    if (found == sessions_.end()) {
        return failed_plan(KafkaError::fetch_session_id_not_found);
    }
    Session& session = found->second;
    if (session.epoch != request.session_epoch) {
        return failed_plan(KafkaError::invalid_fetch_session_epoch);
    }
    if (session.by_id != (version >= first_version_by_id)) {
        return failed_plan(KafkaError::fetch_session_topic_id_error);
    }
    change(session, request);
    if (session.order.empty()) {
        remove(found);
        return full_plan(request, FetchPlan::Session::none);
    }
    session.epoch = epoch_after(session.epoch);
    session.used = now;
    FetchPlan plan{
        .session = FetchPlan::Session::go_on, .session_id = request.session_id, .targets = {}
    };
    for (const Cached& cached : session.order) {
        plan.targets.push_back(cached.target);
    }
    return plan;
}

void FetchSessions::change(Session& session, const FetchRequest& request) {
    each_target(request, [&](FetchTarget target) { put(session, std::move(target)); });
    for (const FetchRequest::ForgottenTopic& topic : request.forgotten_topics_data) {
        for (const std::int32_t partition : topic.partitions) {
            const auto found = session.by_key.find({topic.topic, topic.topic_id, partition});
            if (found != session.by_key.end()) {
                session.order.erase(found->second);
                session.by_key.erase(found);
                --partitions_;
            }
        }
    }
}

void FetchSessions::put(Session& session, FetchTarget target) {
    const auto [at, is_new] = session.by_key.try_emplace(key_of(target));
    if (is_new) {
        session.order.push_back(Cached{.target = std::move(target)});
        at->second = std::prev(session.order.end());
        ++partitions_;
    } else {
        at->second->target = std::move(target);
    }
}

void FetchSessions::remove(Sessions::iterator session) {
    partitions_ -= session->second.order.size();
    sessions_.erase(session);
}

bool FetchSessions::remember(Cached& cached, const FetchOutcome& outcome) {
    const bool failed = outcome.error != KafkaError::none;
    const bool changed =
        cached.high_watermark != outcome.high_watermark || cached.log_start != outcome.log_start;
    // After an error the next good answer is always sent.
    cached.high_watermark = failed ? -1 : outcome.high_watermark;
    cached.log_start = outcome.log_start;
    return failed || changed || outcome.has_records;
}

std::vector<bool> FetchSessions::answer(
    FetchPlan& plan, std::span<const FetchOutcome> outcomes, MonoTime now, rt::Rng& rng
) {
    std::vector<bool> included(plan.targets.size(), true);
    if (plan.session == FetchPlan::Session::make) {
        if (plan.targets.empty() || !make_room(plan.targets.size(), now)) {
            return included;
        }
        plan.session_id = new_id(rng);
        Session& session = sessions_[plan.session_id];
        session.by_id = plan.targets.front().topic.empty();
        session.made = session.used = now;
        for (std::size_t i = 0; i < plan.targets.size(); ++i) {
            put(session, plan.targets[i]);
            remember(*session.by_key[key_of(plan.targets[i])], outcomes[i]);
        }
    }
    const auto found = sessions_.find(plan.session_id);
    if (plan.session != FetchPlan::Session::go_on || found == sessions_.end()) {
        return included;
    }
    Session& session = found->second;
    for (std::size_t i = 0; i < plan.targets.size(); ++i) {
        const auto at = session.by_key.find(key_of(plan.targets[i]));
        if (at == session.by_key.end()) {
            continue;
        }
        included[i] = remember(*at->second, outcomes[i]);
        if (outcomes[i].has_records) {
            session.order.splice(session.order.end(), session.order, at->second);
        }
    }
    return included;
}

bool FetchSessions::make_room(std::size_t partitions, MonoTime now) {
    while (sessions_.size() >= limits_.sessions_max ||
           partitions_ + partitions > limits_.partitions_max) {
        const auto out = victim(partitions, now);
        if (out == sessions_.end()) {
            return false;
        }
        remove(out);
    }
    return true;
}

FetchSessions::Sessions::iterator FetchSessions::victim(std::size_t partitions, MonoTime now) {
    const auto used = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
    const auto oldest = std::ranges::min_element(sessions_, used);
    if (oldest == sessions_.end() || now - oldest->second.used > limits_.age_min) {
        return oldest;
    }
    auto smallest = sessions_.end();
    for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
        const std::size_t size = at->second.order.size();
        if (now - at->second.made > limits_.age_min && size < partitions &&
            (smallest == sessions_.end() || size < smallest->second.order.size())) {
            smallest = at;
        }
    }
    return smallest;
}

std::int32_t FetchSessions::new_id(rt::Rng& rng) const {
    const std::uint64_t numbers = std::numeric_limits<std::int32_t>::max() / slot_.count;
    while (true) {
        const std::uint64_t number = rng.below(numbers) * slot_.count + slot_.index;
        const auto id = static_cast<std::int32_t>(number);
        if (id > 0 && !sessions_.contains(id)) {
            return id;
        }
    }
}

}  // namespace lakestream::kafka
