// SPDX-License-Identifier: Apache-2.0
// SimWires and SimNetwork: byte streams between the hosts of a simulated world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "net/net.h"
#include "rt/signal.h"
#include "rt/sim/loop.h"

namespace lakestream::net {

struct SimWiresOptions {
    Duration latency_min = 20us;
    Duration latency_max = 2ms;
    std::size_t window_bytes = 64 << 10;  // sent and not yet read, per direction
    std::size_t segment_bytes_max = 4096;
    std::size_t backlog = 128;
    std::uint64_t resets_per_million_segments = 0;
};

namespace internal {
struct SimConnection;
struct SimDirection;
struct SimPort;
}  // namespace internal

/// All connections of the world. Lives as long as the loop's executors. Bytes arrive in order, cut
/// into segments of random size after a random latency; the seed decides.
class SimWires {
  public:
    SimWires(rt::SimLoop& loop, std::uint64_t seed, SimWiresOptions options = {});
    SimWires(const SimWires&) = delete;
    SimWires& operator=(const SimWires&) = delete;
    ~SimWires();

    /// While cut off, what the host sends and what is sent to it waits; then it arrives.
    void set_cut_off(const std::string& host, bool cut_off);
    /// Every connection of the host ends with an error on both sides, at once.
    void reset_all(const std::string& host);
    /// Resets come no longer by chance: an answer of many segments would never arrive.
    void heal() { options_.resets_per_million_segments = 0; }
    /// The host vanishes without a word: it no longer listens, and the other ends learn of it only
    /// from an answer to what they send. A host of the same name may come up again.
    void crash(const std::string& host);

    /// Sent and not yet read, of all connections.
    std::size_t bytes_held() const;

  private:
    friend class SimNetwork;
    friend class SimStream;
    friend class SimListener;
    using PortKey = std::pair<std::string, std::uint16_t>;

    bool passes(const internal::SimDirection& direction) const;
    Duration latency();
    void send(const std::shared_ptr<internal::SimConnection>& connection, int side, Bytes data);
    void send_end(const std::shared_ptr<internal::SimConnection>& connection, int side);
    void schedule(const std::shared_ptr<internal::SimConnection>& connection, int side);
    void deliver(internal::SimConnection& connection, int side);
    static void reset(internal::SimConnection& connection);

    rt::SimClock clock_;
    rt::SimExecutor executor_;
    SimWiresOptions options_;
    std::set<std::string> cut_off_;
    std::map<PortKey, std::weak_ptr<internal::SimPort>> ports_;
    std::vector<std::weak_ptr<internal::SimConnection>> connections_;
    std::uint16_t last_port_ = 49151;
    rt::Signal healed_;
};

/// The network as one host sees it. Addresses name hosts; `127.0.0.1`, `0.0.0.0` and `localhost`
/// are the host itself.
class SimNetwork final : public Network {
  public:
    SimNetwork(SimWires& wires, std::string host) : wires_(wires), host_(std::move(host)) {}

    Result<std::unique_ptr<Listener>> listen(rt::Executor& executor, const Address& address)
        override;
    /// A host that is cut off is waited for until the deadline.
    rt::Task<Result<std::unique_ptr<Stream>>> connect(Address address, Deadline deadline) override;

  private:
    std::string host_of(const Address& address) const;

    SimWires& wires_;
    std::string host_;
};

}  // namespace lakestream::net
