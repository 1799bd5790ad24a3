// SPDX-License-Identifier: Apache-2.0
// Network: the seam to byte streams between machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/slices.h"
#include "base/time.h"
#include "rt/task.h"

namespace lakestream::net {

/// Where to listen or connect.
struct Address {
    std::string host;  // a name, an IPv4 or an IPv6 address (without brackets)
    std::uint16_t port = 0;

    /// `HOST:PORT`; an IPv6 address stands in brackets. Errors: `invalid_argument`, naming the
    /// text.
    static Result<Address> parse(std::string_view text);
    std::string to_string() const;  // as `parse` reads it
    friend bool operator==(const Address&, const Address&) = default;
};

/// One connection. Lives on one executor; one reader and one writer at a time. Destroy it there,
/// when no call is pending. Errors of all calls: `unavailable` (reset, closed by the peer),
/// `cancelled` (closed by us), `deadline_exceeded`.
class Stream {
  public:
    virtual ~Stream() = default;
    /// At least one byte into `into`; 0 when the peer has ended its side.
    virtual rt::Task<Result<std::size_t>> read_some(
        std::span<std::byte> into, Deadline deadline
    ) = 0;
    /// All of `data`, gathered without copying. Ends when the bytes are the system's, not when the
    /// peer has them. After an error an unknown prefix was sent: close the stream.
    virtual rt::Task<Status> write(Slices data, Deadline deadline) = 0;
    /// Close at once: pending and later calls end with `cancelled`. Idempotent.
    virtual void close() = 0;
    virtual Address peer() const = 0;
};

/// All of `into`. Errors: also `unavailable` when the peer, called `who`, ends its side before.
rt::Task<Status> read_exactly(
    Stream& stream, std::span<std::byte> into, Deadline deadline, std::string_view who
);

/// Accepts connections on its executor; one `accept` at a time. Destroy it there, when none is
/// pending.
class Listener {
  public:
    virtual ~Listener() = default;
    /// The next connection. Errors: `cancelled` (closed by us), `exhausted` (descriptors or memory;
    /// has waited 100 ms already: call again). The stream belongs to `executor`, which may be
    /// another one than the listener's; until its first call it may be moved there or dropped.
    virtual rt::Task<Result<std::unique_ptr<Stream>>> accept(rt::Executor& executor) = 0;
    virtual void close() = 0;
    /// With the port the system chose when 0 was asked for.
    virtual Address address() const = 0;
};

/// Makes streams and listeners.
class Network {
  public:
    virtual ~Network() = default;
    /// Errors: `already_exists` (port taken), `invalid_argument`, `unsupported` (permission); the
    /// message names the address and what to do. Call on `executor`. Port 0: any free one.
    virtual Result<std::unique_ptr<Listener>> listen(
        rt::Executor& executor, const Address& address
    ) = 0;
    /// Errors: `unavailable`, `deadline_exceeded`, `not_found` (name). Call on the stream's
    /// executor.
    virtual rt::Task<Result<std::unique_ptr<Stream>>> connect(
        Address address, Deadline deadline
    ) = 0;
};

}  // namespace lakestream::net
