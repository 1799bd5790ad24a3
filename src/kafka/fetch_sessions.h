// SPDX-License-Identifier: Apache-2.0
// FetchSessions: what a consumer reads, kept between its fetches so that it sends only changes
// (KIP-227).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/time.h"
#include "codec/kafka/gen/fetch.h"
#include "kafka/error_map.h"
#include "rt/rng.h"

namespace lakestream::kafka {

/// A topic as a request names it.
struct FetchTopic {
    std::string name;         // empty in versions that name topics by id
    codec::kafka::Uuid id{};  // zero in versions that name them by name

    auto operator<=>(const FetchTopic&) const = default;
};

/// One partition that a consumer wants to read.
struct FetchTarget {
    const FetchTopic* topic = nullptr;  // the session's
    std::int32_t partition = 0;
    std::int64_t offset = 0;
    std::int32_t bytes_max = 0;
    std::int32_t leader_epoch = -1;
};

/// What a session remembers of an answered partition.
struct FetchOutcome {
    KafkaError error = KafkaError::none;
    std::int64_t high_watermark = -1;
    std::int64_t log_start = -1;
    bool has_records = false;
};

/// What one consumer reads: the partitions of a request, or of a session through its requests. It
/// does not change while a request is served.
class FetchSession {
  public:
    struct Partition {
        FetchTarget target;
        std::int64_t high_watermark = -1;
        std::int64_t log_start = -1;
        bool had_records = false;  // in the answer being made
    };
    using Partitions = std::list<Partition>;  // in the order in which they are read

    FetchSession() = default;
    FetchSession(const FetchSession&) = delete;
    FetchSession& operator=(const FetchSession&) = delete;

    /// Add and change what the request names, then forget what it gives up.
    void change(const codec::kafka::FetchRequest& request);

    const Partitions& partitions() const noexcept { return partitions_; }
    /// Whether it may be kept: no name is longer than that of any topic.
    bool keepable() const noexcept { return keepable_; }

  private:
    friend class FetchSessions;
    using ByNumber = std::map<std::int32_t, Partitions::iterator>;

    std::map<FetchTopic, ByNumber> topics_;
    Partitions partitions_;
    bool keepable_ = true;

    // Of one that is kept.
    std::int32_t epoch_ = 1;  // of the next request
    bool by_id_ = false;      // topics are named by id
    bool busy_ = false;       // a request is being served
    MonoTime made_;
    MonoTime used_;
};

/// What one request is to be answered with.
struct FetchPlan {
    enum class Session : std::uint8_t { none, make, go_on };

    KafkaError error = KafkaError::none;  // of the whole request; then there is nothing else
    Session session = Session::none;
    std::int32_t session_id = 0;          // when it goes on, or is made
    std::shared_ptr<FetchSession> reads;  // shared: the session may be given up meanwhile
};

/// The sessions of one executor. A session is identified by its number and the epoch of its next
/// request; a request for one that is not here is told so, and its client begins a new one.
///
/// A newcomer takes the place of the session that was used longest ago, if that is older than
/// `age_min`, else of the smallest one made before `age_min`, if that is smaller than itself; else
/// it is served without a session. A session that would grow beyond `partitions_max` ends: its
/// client, told that it is not here, comes back as a newcomer.
class FetchSessions {
  public:
    struct Limits {
        std::size_t sessions_max = 1000;
        std::size_t partitions_max = 200'000;  // in all sessions together
        Duration age_min = std::chrono::minutes(2);
    };

    /// Numbers of different executors never meet: the remainder by `count` is `index`.
    struct Slot {
        std::uint32_t index = 0;
        std::uint32_t count = 1;
    };

    FetchSessions(const Limits& limits, Slot slot) : limits_(limits), slot_(slot) {}
    FetchSessions(const FetchSessions&) = delete;
    FetchSessions& operator=(const FetchSessions&) = delete;

    /// Take in a request: begin, change, go on with or end a session. A session serves one request
    /// at a time: one that comes before the last is answered has the wrong epoch. A plan without an
    /// error must be `answer`ed. Cost: of the request, whatever the session holds.
    FetchPlan open(const codec::kafka::FetchRequest& request, std::int16_t version, MonoTime now);

    /// Makes the session of a plan that wants one, then calls `outcome_of(partition)` for each
    /// partition of the plan in order, and `add(partition)` for those that belong in the response:
    /// of a session that goes on only those that have something new.
    template <class OutcomeOf, class Add>
    void answer(FetchPlan& plan, MonoTime now, rt::Rng& rng, OutcomeOf&& outcome_of, Add&& add) {
        keep(plan, now, rng);
        for (FetchSession::Partition& partition : plan.reads->partitions_) {
            const bool changed = remember(partition, outcome_of(partition.target));
            if (changed || plan.session != FetchPlan::Session::go_on) {
                add(partition.target);
            }
        }
        finish(*plan.reads);
    }

    std::size_t sessions() const noexcept { return sessions_.size(); }
    std::size_t partitions() const noexcept { return partitions_; }

  private:
    using Sessions = std::map<std::int32_t, std::shared_ptr<FetchSession>>;

    static bool remember(FetchSession::Partition& partition, const FetchOutcome& outcome);
    static void finish(FetchSession& session);
    void keep(FetchPlan& plan, MonoTime now, rt::Rng& rng);
    void remove(Sessions::iterator session);
    bool make_room(std::size_t partitions, MonoTime now);
    Sessions::iterator victim(std::size_t partitions, MonoTime now);
    std::int32_t new_id(rt::Rng& rng) const;

    Limits limits_;
    Slot slot_;
    Sessions sessions_;
    std::size_t partitions_ = 0;
};

}  // namespace lakestream::kafka
