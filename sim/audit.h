// SPDX-License-Identifier: Apache-2.0
// Audit: what must hold of the whole when all is quiet again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/clients.h"
#include "sim/tables.h"

namespace lakestream::sim {

/// Reads every partition to its end from every node, and compares.
class Auditor final : public Client {
  public:
    using Client::Client;
    void start() override { scope_.spawn(run()); }
    std::string status() const override { return doing_; }

    /// After `done`: what was read, against what clients were told.
    void judge() const;
    /// That another audit has read the same.
    void judge_same(const Auditor& before) const;
    /// What the tables of the topics that stay must hold.
    TableRows expected_rows() const;
    /// Where the partitions start that were trimmed.
    const std::map<Partition, Offset>& starts() const { return starts_; }

  private:
    using Listing = std::vector<Seen>;  // no voids

    rt::Task<void> run();
    rt::Task<Listing> read(Host& host, Partition partition);
    rt::Task<Result<Offset>> load_end(Host& host, Partition partition);

    void judge_acknowledged(const Partition& partition, const Listing& listing) const;
    void judge_lanes(const Partition& partition, const Listing& listing) const;
    void judge_queries(const Partition& partition, const Listing& listing) const;

    Offset start_of(const Partition& partition) const {
        const auto found = starts_.find(partition);
        return found == starts_.end() ? Offset(0) : found->second;
    }

    std::map<Partition, Listing> read_;
    std::map<Partition, Offset> starts_;
    std::string doing_;
};

/// The index itself: every record's object is there, and every fold snapshot is what folding the
/// records before it gives (INV-ACK-DURABLE, INV-PREFIX).
void audit_index(World& world);

/// The latest date in the name of a WAL object.
std::optional<WallTime> newest_object(const World& world);

/// No object is left that nobody refers to.
void audit_garbage(World& world);

/// Nodes at rest hold no memory of requests (INV-BOUNDED).
void audit_memory(World& world);

}  // namespace lakestream::sim
