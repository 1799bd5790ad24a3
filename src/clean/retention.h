// SPDX-License-Identifier: Apache-2.0
// Retention: what a topic's configuration lets expire, in whole index records.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "catalog/catalog.h"
#include "clean/settings.h"
#include "log/compaction_view.h"

namespace lakestream::clean {

/// What a partition may keep. Absent: no limit.
struct RetentionPolicy {
    std::optional<Duration> time;        // since the newest timestamp of an index record
    std::optional<std::uint64_t> bytes;  // of payload

    bool keeps_all() const { return !time.has_value() && !bytes.has_value(); }
    friend bool operator==(const RetentionPolicy&, const RetentionPolicy&) = default;
};

/// From `retention.ms`, `retention.bytes` and `cleanup.policy`, as Kafka reads them: -1 is no
/// limit, and only a policy with `delete` lets anything expire. A text that is no number keeps all.
RetentionPolicy retention_of(const catalog::Properties& properties, const CleanSettings& defaults);

/// Decides record by record, oldest first, as Kafka does by segment: a record expires when its
/// newest timestamp is older than the time, or when at least `bytes` are left without it; the first
/// that does not, keeps all behind it. A record without timestamps has the time of its publication.
class Expiry {
  public:
    /// `total` is the cumulative size at the log's end.
    Expiry(RetentionPolicy policy, WallTime now, std::int64_t total)
        : policy_(policy), now_(now), total_(total) {}

    bool expires(const log::WalkRecord& record) const;

  private:
    RetentionPolicy policy_;
    WallTime now_;
    std::int64_t total_;
};

}  // namespace lakestream::clean
