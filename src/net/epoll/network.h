// SPDX-License-Identifier: Apache-2.0
// EpollNetwork: TCP on rt::Loop.
#pragma once

#include "net/net.h"
#include "rt/offload.h"

namespace lakestream::net {

/// Every executor it is given is an `rt::Loop`. Non-blocking sockets, edge-triggered, TCP_NODELAY;
/// writes are gathered by the system. Names are resolved on `resolver`, which outlives it.
class EpollNetwork final : public Network {
  public:
    explicit EpollNetwork(rt::Offloader& resolver) : resolver_(resolver) {}

    /// A host name is resolved here and now: meant for the start of a process.
    Result<std::unique_ptr<Listener>> listen(rt::Executor& executor, const Address& address)
        override;
    rt::Task<Result<std::unique_ptr<Stream>>> connect(Address address, Deadline deadline) override;

  private:
    rt::Offloader& resolver_;
};

}  // namespace lakestream::net
