// SPDX-License-Identifier: Apache-2.0
// Trimmer: deletes records from the begin of partitions.
#pragma once

#include "sim/clients.h"

namespace lakestream::sim {

/// ListOffsets "earliest" of one node; what it says is noted in the ledger.
rt::Task<Result<Offset>> load_start(
    Connection& connection, rt::SimExecutor& executor, Ledger& ledger, Partition partition
);

/// Asks random nodes to delete up to somewhere, mostly not far, now and then everything.
class Trimmer final : public Client {
  public:
    using Client::Client;
    void start() override { scope_.spawn(run()); }

  private:
    rt::Task<void> run();
    rt::Task<Status> trim(Partition partition);
};

}  // namespace lakestream::sim
