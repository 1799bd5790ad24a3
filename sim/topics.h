// SPDX-License-Identifier: Apache-2.0
// Topics: making those that stay, and a client whose topics come and go.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/clients.h"

namespace lakestream::sim {

/// Makes the topics of the ledger and learns their ids.
class TopicMaker final : public Client {
  public:
    using Client::Client;
    void start() override { scope_.spawn(run()); }

  private:
    rt::Task<void> run();
};

/// Creates a topic, writes, changes it, reads, deletes, and begins again under the same name.
/// Nothing of an earlier topic may ever be in a later one, and what was acknowledged is there until
/// it is deleted.
class Churner final : public Client {
  public:
    Churner(World& world, Ledger& ledger, const std::string& name)
        : Client(world, ledger, name), topic_(name + "-topic") {}
    void start() override { scope_.spawn(run()); }
    std::string status() const override { return topic_ + ": " + doing_; }

  private:
    rt::Task<void> run();
    rt::Task<kafka_api::Uuid> create();
    rt::Task<void> write(kafka_api::Uuid id);
    /// More partitions and other configurations, once each, whatever comes of it.
    rt::Task<void> change();
    rt::Task<void> read(kafka_api::Uuid id);
    rt::Task<void> remove(kafka_api::Uuid id);
    Partition partition(kafka_api::Uuid id) const { return {topic_ + "@" + id.to_string(), 0}; }

    const std::string topic_;
    std::string doing_;
    std::set<kafka_api::Uuid> seen_;
    /// A request to delete by name that was not answered may come to effect on a later topic.
    bool deletes_open_ = false;
};

}  // namespace lakestream::sim
