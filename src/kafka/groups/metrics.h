// SPDX-License-Identifier: Apache-2.0
// Metrics of consumer groups.
#pragma once

#include "base/metrics.h"

namespace lakestream::kafka::groups {

/// Of all executors together; thread-safe. The registry outlives it.
class Metrics {
  public:
    explicit Metrics(metrics::Registry& registry) : registrations_(registry) {
        metrics::Registrations& out = registrations_;
        out.add("lakestream_kafka_groups", "Consumer groups in memory.", groups);
        out.add("lakestream_kafka_group_members", "Members of consumer groups.", members);
        out.add(
            "lakestream_kafka_group_memory_bytes",
            "Memory of consumer groups: members and offsets, as accounted.",
            memory
        );
        out.add(
            "lakestream_kafka_group_evicted_total",
            "Groups without members that left memory to make room.",
            evicted
        );
        out.add(
            "lakestream_kafka_group_refused_total",
            "Requests refused because the memory of consumer groups was full.",
            refused
        );
        out.add(
            "lakestream_kafka_group_unreadable_total",
            "Records of groups that could not be decoded, each time one was met.",
            unreadable
        );
        out.add("lakestream_kafka_group_rebalances_total", "Completed rebalances.", rebalances);
        out.add(
            "lakestream_kafka_group_members_expired_total",
            "Members removed because they were silent for too long.",
            members_expired
        );
        out.add("lakestream_kafka_group_commits_total", "Commits of offsets stored.", commits);
        out.add(
            "lakestream_kafka_group_commits_failed_total",
            "Commits of offsets that the metadata store did not take in time.",
            commits_failed
        );
        out.add(
            "lakestream_kafka_group_offsets_committed_total",
            "Offsets stored: one for each partition of a commit.",
            offsets_committed
        );
        out.add(
            "lakestream_kafka_group_offsets_expired_total",
            "Offsets removed because their group was idle for too long, or their topic is gone.",
            offsets_expired
        );
        out.add(
            "lakestream_kafka_group_takeovers_total",
            "Groups loaded: each time one more epoch begins.",
            takeovers
        );
        out.add(
            "lakestream_kafka_group_fenced_total", "Groups lost to another coordinator.", fenced
        );
    }
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    metrics::Gauge groups;
    metrics::Gauge members;
    metrics::Gauge memory;
    metrics::Counter evicted;
    metrics::Counter refused;
    metrics::Counter unreadable;
    metrics::Counter rebalances;
    metrics::Counter members_expired;
    metrics::Counter commits;
    metrics::Counter commits_failed;
    metrics::Counter offsets_committed;
    metrics::Counter offsets_expired;
    metrics::Counter takeovers;
    metrics::Counter fenced;

  private:
    metrics::Registrations registrations_;  // last: the rest stands as long as it is registered
};

}  // namespace lakestream::kafka::groups
