// SPDX-License-Identifier: Apache-2.0
// Tells the process's supervisor how it is, by systemd's sd_notify protocol.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lakestream::server {

/// Where a supervisor listens; one that was not given hears nothing.
class Supervisor {
  public:
    /// `socket`: the variable NOTIFY_SOCKET: a path, one that begins with `@` for an abstract
    /// name, or empty: there is no supervisor.
    explicit Supervisor(std::string socket) : socket_(std::move(socket)) {}

    /// Send `READY=1` or the like. Errors: of the socket; the process goes on all the same.
    Status notify(std::string_view state) const;

  private:
    std::string socket_;
};

}  // namespace lakestream::server
