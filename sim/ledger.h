// SPDX-License-Identifier: Apache-2.0
// Ledger: what clients sent, what was acknowledged, what was seen; and what must hold of it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codec/kafka/uuid.h"
#include "lakestream/bytes.h"
#include "lakestream/types.h"
#include "sim/world.h"

namespace lakestream::sim {

struct Partition {
    std::string topic;
    std::int32_t number = 0;

    friend auto operator<=>(const Partition&, const Partition&) = default;
    std::string to_string() const { return topic + "/" + std::to_string(number); }
};

/// One record batch that a client made. Its bytes are its identity: a retry sends the same.
struct Batch {
    std::size_t id = 0;  // in the ledger
    Partition partition;
    Bytes bytes;
    std::int32_t records = 0;
    std::vector<std::int64_t> timestamps;  // of its records
    bool idempotent = false;
    /// An idempotent producer's sequence to one partition, or a connection; and the place in it.
    std::uint64_t lane = 0;
    std::uint64_t place = 0;
    std::optional<Offset> acknowledged;
};

/// What one fetch says of one offset.
struct Seen {
    Offset begin;
    Offset end;
    std::optional<std::size_t> batch;  // none: void
    friend bool operator==(const Seen&, const Seen&) = default;
};

/// A time search whose answer is judged when the whole log is known.
struct TimeQuery {
    Partition partition;
    std::int64_t timestamp = 0;
    std::int64_t answered_timestamp = 0;
    Offset answered;
};

class Ledger {
  public:
    explicit Ledger(World& world) : world_(world) {}

    Batch& add(Batch batch);
    Batch& at(std::size_t id) { return batches_[id]; }
    const std::deque<Batch>& batches() const { return batches_; }
    std::uint64_t new_lane() { return ++lanes_; }
    std::size_t acknowledged() const { return acknowledged_; }

    /// Its topic is being deleted: from now on all is garbage that a node which has not heard of it
    /// yet may still take and show.
    void bury(const Partition& partition) { buried_.insert(partition); }

    /// The broker said so: INV-NO-DOUBLE, one place for each batch and one batch for each place.
    void acknowledge(Batch& batch, Offset offset, std::uint64_t life);

    /// What a fetch from `from` returned, judged against everything seen and acknowledged before.
    /// Where it ends.
    Offset see(const Partition& partition, Offset from, const Bytes& records);
    /// What `see` would say, without judging what it is.
    std::vector<Seen> parse(const Partition& partition, Offset from, const Bytes& records);

    /// High watermarks of one process never go back (INV-PREFIX). Take `floor` before asking.
    Offset floor(std::uint64_t life, const Partition& partition) const;
    void raise_floor(std::uint64_t life, const Partition& partition, Offset watermark);
    void check_watermark(
        std::uint64_t life, const Partition& partition, Offset floor, Offset watermark
    );
    /// Somebody asks that a partition starts at `to`: from now on it may.
    void ask_trim(const Partition& partition, Offset to) {
        trims_[partition] = std::max(trims_[partition], to);
    }
    /// The furthest that was asked for.
    Offset trim_asked(const Partition& partition) const {
        const auto found = trims_.find(partition);
        return found == trims_.end() ? Offset(0) : found->second;
    }
    /// Where a process said a partition starts: never earlier again (INV-START), and never where
    /// nobody asked. Take `floor` before asking.
    Offset start_floor(std::uint64_t life, const Partition& partition) const {
        const auto found = start_floors_.find({life, partition});
        return found == start_floors_.end() ? Offset(0) : found->second;
    }
    void check_start(std::uint64_t life, const Partition& partition, Offset floor, Offset start);

    /// The end of the last acknowledged batch.
    Offset acknowledged_end(const Partition& partition) const;

    std::vector<Partition> partitions;
    std::map<std::string, codec::kafka::Uuid> topic_ids;
    std::vector<TimeQuery> queries;

  private:
    std::optional<std::size_t> find(const Partition& partition, const Bytes& batch) const;
    void remember(const Partition& partition, const Seen& seen);

    World& world_;
    std::deque<Batch> batches_;
    std::multimap<std::uint32_t, std::size_t> by_crc_;
    std::map<Partition, std::map<Offset, Seen>> seen_;  // by begin
    std::map<std::pair<Partition, std::size_t>, Offset> places_;
    std::map<std::pair<std::uint64_t, Partition>, Offset> floors_;
    std::map<Partition, Offset> trims_;
    std::map<std::pair<std::uint64_t, Partition>, Offset> start_floors_;
    std::map<Partition, Offset> acknowledged_ends_;
    std::set<Partition> buried_;
    std::size_t acknowledged_ = 0;
    std::uint64_t lanes_ = 0;
};

}  // namespace lakestream::sim
