// SPDX-License-Identifier: Apache-2.0
// Client: what every actor that speaks Kafka is made of.
#pragma once

#include <string>
#include <utility>

#include "codec/batch_builder.h"
#include "codec/kafka/gen/produce.h"
#include "rt/scope.h"
#include "sim/connection.h"
#include "sim/ledger.h"

namespace lakestream::sim {

/// One actor on an executor of its own, with its own chance and connections. Its tasks run until
/// they end or the world does.
class Client {
  public:
    Client(World& world, Ledger& ledger, const std::string& name)
        : world_(world),
          ledger_(ledger),
          executor_(world.make_actor()),
          connections_(world, executor_, name),
          scope_(executor_) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    virtual ~Client() = default;

    virtual void start() = 0;
    /// Whether it has done all it set out to do, and what it waits for.
    virtual bool done() const { return scope_.size() == 0; }
    virtual std::string status() const { return {}; }
    /// No more requests.
    void hang_up() {
        hung_up_ = true;
        connections_.close_all();
    }

  protected:
    rt::Rng& rng() const { return executor_.rng(); }
    auto nap(Duration max) const { return rt::sleep_until(executor_.now() + up_to(rng(), max)); }
    bool chaos() const { return world_.chaos; }
    bool hung_up() const { return hung_up_; }

    World& world_;
    Ledger& ledger_;
    rt::SimExecutor& executor_;
    Connections connections_;
    rt::TaskScope scope_;

  private:
    bool hung_up_ = false;
};

/// A batch of random records for a partition, in the ledger.
Batch make_batch(rt::Rng& rng, const World& world, const codec::BatchOptions& producer);

/// How a Produce request for one batch was answered.
struct Produced {
    kafka_api::ErrorCode code = kafka_api::ErrorCode::none;
    Offset offset;
    std::uint64_t life = 0;
};

/// The lowest Produce version that may carry the batch: zstd came with 7.
std::int16_t produce_version_min(const Batch& batch);

/// The request for one batch; `topic_id` is used from version 13 on.
kafka_api::ProduceRequest produce_request(
    const Batch& batch, kafka_api::Uuid topic_id, std::int16_t acks, Duration timeout
);

/// What a client may simply try again, in the state that a test of faults makes normal.
bool is_transient(kafka_api::ErrorCode code);

}  // namespace lakestream::sim
