// SPDX-License-Identifier: Apache-2.0
// FetchSessions: what a consumer reads, kept between its fetches so that it sends only changes
// (KIP-227).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/time.h"
#include "codec/kafka/gen/fetch.h"
#include "kafka/error_map.h"
#include "rt/rng.h"

namespace lakestream::kafka {

/// One partition that a consumer wants to read.
struct FetchTarget {
    std::string topic;            // empty in versions that name topics by id
    codec::kafka::Uuid topic_id;  // zero in versions that name them by name
    std::int32_t partition = 0;
    std::int64_t offset = 0;
    std::int32_t bytes_max = 0;
    std::int32_t leader_epoch = -1;
};

/// What one request is to be answered with.
struct FetchPlan {
    enum class Session : std::uint8_t { none, make, go_on };

    KafkaError error = KafkaError::none;  // of the whole request; then there is nothing else
    Session session = Session::none;
    std::int32_t session_id = 0;  // when it goes on
    std::vector<FetchTarget> targets;
};

/// What a session remembers of an answered partition.
struct FetchOutcome {
    KafkaError error = KafkaError::none;
    std::int64_t high_watermark = -1;
    std::int64_t log_start = -1;
    bool has_records = false;
};

/// The sessions of one executor. A session is identified by its number and the epoch of its next
/// request; a request for one that is not here is told so, and its client begins a new one.
///
/// A newcomer takes the place of the session that was used longest ago, if that is older than
/// `age_min`, else of the smallest one made before `age_min`, if that is smaller than itself; else
/// it is served without a session.
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

    /// Take in a request: begin, change, go on with or end a session.
    FetchPlan open(const codec::kafka::FetchRequest& request, std::int16_t version, MonoTime now);

    /// What to answer, given the outcome of each target in order. Makes the session of a plan that
    /// wants one and gives its number in `session_id` (0: none). Returns which targets belong in
    /// the response: of a session that goes on only those that have something new.
    std::vector<bool> answer(
        FetchPlan& plan, std::span<const FetchOutcome> outcomes, MonoTime now, rt::Rng& rng
    );

    std::size_t sessions() const noexcept { return sessions_.size(); }
    std::size_t partitions() const noexcept { return partitions_; }

  private:
    using Key = std::tuple<std::string, codec::kafka::Uuid, std::int32_t>;

    struct Cached {
        FetchTarget target;
        std::int64_t high_watermark = -1;
        std::int64_t log_start = -1;
    };

    struct Session {
        std::int32_t epoch = 1;  // of the next request
        bool by_id = false;      // topics are named by id
        MonoTime made;
        MonoTime used;
        std::list<Cached> order;  // what answered with records goes to the end: all get their turn
        std::map<Key, std::list<Cached>::iterator> by_key;
    };

    using Sessions = std::map<std::int32_t, Session>;

    static Key key_of(const FetchTarget& target);
    static bool remember(Cached& cached, const FetchOutcome& outcome);
    void change(Session& session, const codec::kafka::FetchRequest& request);
    void put(Session& session, FetchTarget target);
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
