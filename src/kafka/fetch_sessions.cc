// SPDX-License-Identifier: Apache-2.0
// The rules of KIP-227, as Kafka's broker applies them.
#include "kafka/fetch_sessions.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using codec::kafka::FetchRequest;

constexpr std::int32_t initial_epoch = 0;  // a full request that wants a new session
constexpr std::int32_t final_epoch = -1;   // a full request that wants none
constexpr std::int16_t first_version_by_id = 13;

std::int32_t epoch_after(std::int32_t epoch) {
    return epoch == std::numeric_limits<std::int32_t>::max() ? 1 : epoch + 1;
}

FetchPlan failed_plan(KafkaError error) {
    return FetchPlan{.error = error, .reads = nullptr};
}

}  // namespace

void FetchSession::change(const FetchRequest& request) {
    for (const FetchRequest::FetchTopic& named : request.topics) {
        if (named.partitions.empty()) {
            continue;
        }
        keepable_ = keepable_ && named.topic.size() <= topic_name_bytes_max;
        const auto topic = topics_.try_emplace({named.topic, named.topic_id}).first;
        for (const FetchRequest::FetchPartition& wanted : named.partitions) {
            const auto [at, is_new] = topic->second.try_emplace(wanted.partition);
            if (is_new) {
                at->second = partitions_.emplace(partitions_.end());
            }
            at->second->target = {
                .topic = &topic->first,
                .partition = wanted.partition,
                .offset = wanted.fetch_offset,
                .bytes_max = wanted.partition_max_bytes,
                .leader_epoch = wanted.current_leader_epoch,
            };
        }
    }
    for (const FetchRequest::ForgottenTopic& named : request.forgotten_topics_data) {
        const auto topic = topics_.find({named.topic, named.topic_id});
        if (topic == topics_.end()) {
            continue;
        }
        for (const std::int32_t number : named.partitions) {
            if (const auto found = topic->second.extract(number)) {
                partitions_.erase(found.mapped());
            }
        }
        if (topic->second.empty()) {
            topics_.erase(topic);
        }
    }
}

FetchPlan FetchSessions::open(const FetchRequest& request, std::int16_t version, MonoTime now) {
    const auto found = sessions_.find(request.session_id);
    if (request.session_epoch == initial_epoch || request.session_epoch == final_epoch) {
        if (found != sessions_.end()) {
            remove(found);
        }
        const bool wanted = request.session_epoch == initial_epoch;
        FetchPlan plan{
            .session = wanted ? FetchPlan::Session::make : FetchPlan::Session::none,
            .reads = std::make_shared<FetchSession>(),
        };
        plan.reads->by_id_ = version >= first_version_by_id;
        plan.reads->change(request);
        return plan;
    }
    if (found == sessions_.end()) {
        return failed_plan(KafkaError::fetch_session_id_not_found);
    }
    FetchSession& session = *found->second;
    if (session.epoch_ != request.session_epoch || session.busy_) {
        return failed_plan(KafkaError::invalid_fetch_session_epoch);
    }
    if (session.by_id_ != (version >= first_version_by_id)) {
        return failed_plan(KafkaError::fetch_session_topic_id_error);
    }
    const std::size_t before = session.partitions_.size();
    session.change(request);
    partitions_ = partitions_ - before + session.partitions_.size();
    const bool grown = session.partitions_.size() > before;
    if (!session.keepable() || (grown && partitions_ > limits_.partitions_max)) {
        remove(found);
        return failed_plan(KafkaError::fetch_session_id_not_found);
    }
    FetchPlan plan{
        .session = FetchPlan::Session::go_on,
        .session_id = request.session_id,
        .reads = found->second,
    };
    if (session.partitions_.empty()) {
        remove(found);
        plan.session = FetchPlan::Session::none;
        plan.session_id = 0;
    }
    session.epoch_ = epoch_after(session.epoch_);
    session.used_ = now;
    session.busy_ = true;
    return plan;
}

void FetchSessions::remove(Sessions::iterator session) {
    partitions_ -= session->second->partitions_.size();
    sessions_.erase(session);
}

bool FetchSessions::remember(FetchSession::Partition& partition, const FetchOutcome& outcome) {
    const bool failed = outcome.error != KafkaError::none;
    const bool changed = partition.high_watermark != outcome.high_watermark ||
                         partition.log_start != outcome.log_start;
    // After an error the next good answer is always sent.
    partition.high_watermark = failed ? -1 : outcome.high_watermark;
    partition.log_start = outcome.log_start;
    partition.had_records = outcome.has_records;
    return failed || changed || outcome.has_records;
}

void FetchSessions::keep(FetchPlan& plan, MonoTime now, rt::Rng& rng) {
    const std::size_t size = plan.reads->partitions_.size();
    if (plan.session != FetchPlan::Session::make || size == 0 || !plan.reads->keepable() ||
        !make_room(size, now)) {
        return;
    }
    plan.session_id = new_id(rng);
    plan.reads->made_ = plan.reads->used_ = now;
    sessions_[plan.session_id] = plan.reads;
    partitions_ += size;
}

// What answered with records goes to the end: all get their turn.
void FetchSessions::finish(FetchSession& session) {
    FetchSession::Partitions served;
    for (auto at = session.partitions_.begin(); at != session.partitions_.end();) {
        const auto partition = at++;
        if (partition->had_records) {
            served.splice(served.end(), session.partitions_, partition);
        }
    }
    session.partitions_.splice(session.partitions_.end(), served);
    session.busy_ = false;
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
    const auto used = [](const auto& a, const auto& b) {
        return a.second->used_ < b.second->used_;
    };
    const auto oldest = std::ranges::min_element(sessions_, used);
    if (oldest == sessions_.end() || now - oldest->second->used_ > limits_.age_min) {
        return oldest;
    }
    auto smallest = sessions_.end();
    for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
        const std::size_t size = at->second->partitions_.size();
        if (now - at->second->made_ > limits_.age_min && size < partitions &&
            (smallest == sessions_.end() || size < smallest->second->partitions_.size())) {
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
