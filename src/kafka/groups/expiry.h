// SPDX-License-Identifier: Apache-2.0
// Which committed offsets have expired: pure, and hard to fool by a clock that jumps.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/time.h"
#include "kafka/groups/group.h"
#include "kafka/groups/ledger.h"
#include "kafka/groups/options.h"

namespace lakestream::kafka::groups {

/// The date by which offsets expire: the wall clock, but never further on than it was at the start
/// plus the time that has passed since. A clock set forward expires nothing early; one set back
/// keeps offsets longer.
class ExpiryClock {
  public:
    explicit ExpiryClock(Moment start) : start_(start) {}

    WallTime now(Moment now) const {
        const auto passed = std::chrono::floor<WallTime::duration>(now.mono - start_.mono);
        return std::min(now.wall, start_.wall + passed);
    }
    /// A clock that was wrong at the start has this long to be put right.
    bool may_expire(Moment now, Duration retention) const {
        return now.mono - start_.mono >= std::min<Duration>(retention, 1h);
    }

  private:
    Moment start_;
};

/// Offsets that `date` finds expired (KIP-211): of a group without members, those committed and
/// idle for the retention time; of consumers, those of topics that nobody has subscribed to for as
/// long. A client's own retention time (OffsetCommit 2 to 4) stands for the group's.
inline std::vector<OffsetKey> expired_offsets(
    const Group& group, const Ledger& ledger, const GroupOptions& options, WallTime date
) {
    std::vector<OffsetKey> expired;
    const bool is_empty = group.state() == GroupState::empty;
    if (!is_empty && !(group.state() == GroupState::stable && group.knows_subscriptions())) {
        return expired;
    }
    // One that never had members has been empty since nobody knows when: the commit decides.
    const WallTime since = is_empty && group.generation() > 0 ? group.empty_since() : WallTime();
    ledger.each([&](const std::string& topic, std::int32_t partition, const Committed& offset) {
        if (!is_empty && group.subscribed().contains(topic)) {
            return;
        }
        const WallTime end = offset.expires.value_or(
            std::max(since, offset.at) +
            std::chrono::floor<WallTime::duration>(options.offsets_retention)
        );
        if (end <= date) {
            expired.push_back({topic, partition});
        }
    });
    return expired;
}

}  // namespace lakestream::kafka::groups
