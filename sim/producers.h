// SPDX-License-Identifier: Apache-2.0
// Producers: idempotent ones, which repeat until they are answered, and plain ones, which do not.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/clients.h"

namespace lakestream::sim {

/// One producer id, a lane to each of some partitions, up to `in_flight` batches of a lane under
/// way, each repeated with the same sequence to any node until it is acknowledged.
class IdempotentProducer final : public Client {
  public:
    IdempotentProducer(
        World& world, Ledger& ledger, const std::string& name, std::vector<Partition> partitions
    );
    void start() override;
    std::string status() const override;

  private:
    struct Lane {
        Partition partition;
        std::uint64_t number = 0;
        std::int64_t producer = -1;
        std::int16_t epoch = 0;
        std::int32_t sequence = 0;
        std::uint64_t next_place = 0;
        std::deque<std::size_t> in_flight;  // batches, oldest first
        Host* favourite = nullptr;
        std::string last_error;
        rt::Signal changed;
    };

    rt::Task<void> run(Lane& lane);
    std::uint64_t under_way(const Lane& lane) const;
    rt::Task<void> identify(Lane& lane);
    void send_next(Lane& lane);
    rt::Task<void> deliver(Lane& lane, std::size_t batch);
    rt::Task<Result<Produced>> attempt(Lane& lane, const Batch& batch);
    void judge(Lane& lane, const Batch& batch, const Produced& produced, bool first);

    std::vector<std::unique_ptr<Lane>> lanes_;
};

/// Requests with a batch for several partitions, one behind the other on one connection. Never
/// repeats: what is not answered may be there or not.
class PlainProducer final : public Client {
  public:
    PlainProducer(World& world, Ledger& ledger, const std::string& name)
        : Client(world, ledger, name) {}
    void start() override { scope_.spawn(run()); }

  private:
    rt::Task<void> run();
    void send(Connection& connection);
    rt::Task<void> note_answer(
        rt::Future<Result<Bytes>> answer,
        std::int16_t version,
        std::vector<std::size_t> batches,
        std::uint64_t life
    );

    std::map<std::pair<Connection*, Partition>, std::uint64_t> lanes_;
};

}  // namespace lakestream::sim
