// SPDX-License-Identifier: Apache-2.0
// The simulated network: connections are two directions of segments on their way.
#include "net/sim/network.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>

#include "base/assert.h"

namespace lakestream::net {

namespace internal {

/// A piece of bytes on its way; without bytes the end of the direction.
struct Segment {
    Bytes data;
    MonoTime due;
};

/// What one side sends to the other.
struct SimDirection {
    std::string from;
    std::string to;
    std::deque<Segment> wire;
    std::deque<Bytes> arrived;
    std::size_t held = 0;  // bytes in both
    bool ended = false;    // the end has arrived
    MonoTime last_due{};
    rt::Signal readable;
    rt::Signal writable;
};

/// Side 0 connected, side 1 accepted; side s sends into direction s.
struct SimConnection {
    std::array<SimDirection, 2> directions;
    std::array<bool, 2> closed{};    // by its holder
    std::array<bool, 2> vanished{};  // its host crashed
    bool reset = false;

    SimDirection& out(int side) { return directions[static_cast<std::size_t>(side)]; }
    SimDirection& in(int side) { return directions[static_cast<std::size_t>(1 - side)]; }
    bool gone(int side) const {
        return closed[static_cast<std::size_t>(side)] || vanished[static_cast<std::size_t>(side)];
    }

    void wake_all() {
        for (SimDirection& direction : directions) {
            direction.readable.notify_all();
            direction.writable.notify_all();
        }
    }
};

/// Connections that wait to be accepted.
struct SimPort {
    std::deque<std::unique_ptr<Stream>> waiting;
    bool closed = false;
    rt::Signal changed;
};

}  // namespace internal

using internal::SimConnection;
using internal::SimDirection;
using internal::SimPort;

/// One side of a connection.
class SimStream final : public Stream {
  public:
    SimStream(SimWires& wires, std::shared_ptr<SimConnection> connection, int side, Address peer)
        : wires_(wires), connection_(std::move(connection)), side_(side), peer_(std::move(peer)) {}
    ~SimStream() override { close(); }

    rt::Task<Result<std::size_t>> read_some(std::span<std::byte> into, Deadline deadline) override {
        LKS_ASSERT(!into.empty());
        SimDirection& in = connection_->in(side_);
        while (true) {
            if (const auto error = broken()) {
                co_return *error;
            }
            if (!in.arrived.empty()) {
                co_return take(in, into);
            }
            if (in.ended) {
                co_return std::size_t{0};
            }
            if (!co_await in.readable.wait(deadline)) {
                co_return deadline_exceeded("{} sent nothing in time", peer_.to_string());
            }
        }
    }

    rt::Task<Status> write(Slices data, Deadline deadline) override {
        SimDirection& out = connection_->out(side_);
        for (const Bytes& part : data.parts()) {
            std::size_t sent = 0;
            while (sent < part.size()) {
                if (const auto error = broken()) {
                    co_return *error;
                }
                // Room for a whole segment, else a full window fills with ever smaller ones.
                const std::size_t room = wires_.options_.window_bytes - out.held;
                const std::size_t wanted = std::min(
                    {wires_.options_.window_bytes,
                     part.size() - sent,
                     wires_.options_.segment_bytes_max}
                );
                if (room < wanted) {
                    if (!co_await out.writable.wait(deadline)) {
                        co_return deadline_exceeded("{} does not read", peer_.to_string());
                    }
                    continue;
                }
                const std::size_t most =
                    std::min({room, part.size() - sent, wires_.options_.segment_bytes_max});
                const std::size_t count = wires_.executor_.rng().between(1, most);
                wires_.send(connection_, side_, part.slice(sent, count));
                sent += count;
            }
        }
        co_return Status();
    }

    void close() override {
        bool& closed = connection_->closed[static_cast<std::size_t>(side_)];
        if (closed) {
            return;
        }
        closed = true;
        connection_->in(side_).readable.notify_all();
        connection_->out(side_).writable.notify_all();
        if (!connection_->vanished[static_cast<std::size_t>(side_)]) {
            wires_.send_end(connection_, side_);
        }
    }

    Address peer() const override { return peer_; }

  private:
    std::optional<Error> broken() const {
        if (connection_->closed[static_cast<std::size_t>(side_)]) {
            return cancelled("the connection with {} was closed here", peer_.to_string());
        }
        if (connection_->reset) {
            return unavailable("connection with {}: reset", peer_.to_string());
        }
        return std::nullopt;
    }

    static std::size_t take(SimDirection& in, std::span<std::byte> into) {
        const Bytes first = std::move(in.arrived.front());
        in.arrived.pop_front();
        const std::size_t count = std::min(first.size(), into.size());
        std::memcpy(into.data(), first.data(), count);
        if (count < first.size()) {
            in.arrived.push_front(first.slice(count, first.size() - count));
        }
        in.held -= count;
        in.writable.notify_all();
        return count;
    }

    SimWires& wires_;
    std::shared_ptr<SimConnection> connection_;  // shared by both sides and what is on its way
    int side_;
    Address peer_;
};

/// One listening port of a host.
class SimListener final : public Listener {
  public:
    SimListener(std::shared_ptr<SimPort> port, Address address)
        : port_(std::move(port)), address_(std::move(address)) {}
    ~SimListener() override { close(); }

    rt::Task<Result<std::unique_ptr<Stream>>> accept(rt::Executor&) override {
        while (port_->waiting.empty() && !port_->closed) {
            co_await port_->changed.wait();
        }
        if (port_->closed) {
            co_return cancelled("the listener on {} was closed", address_.to_string());
        }
        std::unique_ptr<Stream> stream = std::move(port_->waiting.front());
        port_->waiting.pop_front();
        co_return stream;
    }

    void close() override {
        port_->closed = true;
        port_->waiting.clear();
        port_->changed.notify_all();
    }

    Address address() const override { return address_; }

  private:
    std::shared_ptr<SimPort> port_;  // the wires know it while the listener lives
    Address address_;
};

SimWires::SimWires(rt::SimLoop& loop, std::uint64_t seed, SimWiresOptions options)
    : clock_(loop), executor_(loop, clock_, seed), options_(options) {}

SimWires::~SimWires() = default;

Duration SimWires::latency() {
    return Duration(static_cast<std::int64_t>(executor_.rng().between(
        static_cast<std::uint64_t>(options_.latency_min.count()),
        static_cast<std::uint64_t>(options_.latency_max.count())
    )));
}

bool SimWires::passes(const SimDirection& direction) const {
    return direction.from == direction.to ||
           (!cut_off_.contains(direction.from) && !cut_off_.contains(direction.to));
}

void SimWires::send(const std::shared_ptr<SimConnection>& connection, int side, Bytes data) {
    if (executor_.rng().chance(options_.resets_per_million_segments, 1'000'000)) {
        reset(*connection);
        return;
    }
    SimDirection& out = connection->out(side);
    out.held += data.size();
    out.last_due = std::max(out.last_due, executor_.now() + latency());
    out.wire.push_back({std::move(data), out.last_due});
    schedule(connection, side);
}

void SimWires::send_end(const std::shared_ptr<SimConnection>& connection, int side) {
    SimDirection& out = connection->out(side);
    out.last_due = std::max(out.last_due, executor_.now() + latency());
    out.wire.push_back({Bytes(), out.last_due});
    schedule(connection, side);
}

void SimWires::schedule(const std::shared_ptr<SimConnection>& connection, int side) {
    executor_.call_at(connection->out(side).last_due, [this, connection, side] {
        deliver(*connection, side);
    });
}

void SimWires::deliver(SimConnection& connection, int side) {
    SimDirection& way = connection.out(side);
    while (!way.wire.empty() && way.wire.front().due <= executor_.now() && passes(way)) {
        internal::Segment segment = std::move(way.wire.front());
        way.wire.pop_front();
        if (segment.data.empty()) {
            way.ended = true;
        } else if (connection.gone(1 - side)) {
            reset(connection);
            return;
        } else {
            way.arrived.push_back(std::move(segment.data));
        }
        way.readable.notify_all();
    }
}

void SimWires::reset(SimConnection& connection) {
    connection.reset = true;
    for (SimDirection& direction : connection.directions) {
        direction.wire.clear();
        direction.arrived.clear();
        direction.held = 0;
    }
    connection.wake_all();
}

void SimWires::set_cut_off(const std::string& host, bool cut_off) {
    if (cut_off) {
        cut_off_.insert(host);
        return;
    }
    cut_off_.erase(host);
    healed_.notify_all();
    for (const auto& weak : connections_) {
        if (const auto connection = weak.lock()) {
            for (const int side : {0, 1}) {
                executor_.post([this, connection, side] { deliver(*connection, side); });
            }
        }
    }
}

void SimWires::reset_all(const std::string& host) {
    for (const auto& weak : connections_) {
        const auto connection = weak.lock();
        if (connection && (connection->out(0).from == host || connection->out(0).to == host)) {
            reset(*connection);
        }
    }
}

void SimWires::crash(const std::string& host) {
    std::erase_if(ports_, [&](const auto& each) { return each.first.first == host; });
    for (const auto& weak : connections_) {
        if (const auto connection = weak.lock()) {
            for (const int side : {0, 1}) {
                if (connection->out(side).from == host) {
                    connection->vanished[static_cast<std::size_t>(side)] = true;
                }
            }
        }
    }
}

std::size_t SimWires::bytes_held() const {
    std::size_t sum = 0;
    for (const auto& weak : connections_) {
        if (const auto connection = weak.lock()) {
            sum += connection->out(0).held + connection->out(1).held;
        }
    }
    return sum;
}

std::string SimNetwork::host_of(const Address& address) const {
    const std::string& host = address.host;
    return host == "127.0.0.1" || host == "0.0.0.0" || host == "localhost" ? host_ : host;
}

Result<std::unique_ptr<Listener>> SimNetwork::listen(rt::Executor&, const Address& address) {
    if (host_of(address) != host_) {
        return invalid_argument(
            "{} is no address of this machine: choose one of its own, or 0.0.0.0 for all",
            address.to_string()
        );
    }
    const std::uint16_t number = address.port != 0 ? address.port : ++wires_.last_port_;
    std::weak_ptr<SimPort>& port = wires_.ports_[{host_, number}];
    if (const auto other = port.lock(); other && !other->closed) {
        return already_exists(
            "{} is taken by another process: stop it or choose another port", address.to_string()
        );
    }
    auto made = std::make_shared<SimPort>();
    port = made;
    return std::make_unique<SimListener>(std::move(made), Address{host_, number});
}

rt::Task<Result<std::unique_ptr<Stream>>> SimNetwork::connect(Address address, Deadline deadline) {
    const std::string target = host_of(address);
    while (target != host_ && (wires_.cut_off_.contains(host_) || wires_.cut_off_.contains(target))
    ) {
        if (!co_await wires_.healed_.wait(deadline)) {
            co_return deadline_exceeded("{} did not answer in time", address.to_string());
        }
    }
    const MonoTime arrival = wires_.executor_.now() + wires_.latency();
    co_await rt::sleep_until(std::min(arrival, deadline));
    if (arrival > deadline) {
        co_return deadline_exceeded("{} did not answer in time", address.to_string());
    }
    const auto found = wires_.ports_.find({target, address.port});
    const auto port = found == wires_.ports_.end() ? nullptr : found->second.lock();
    if (!port || port->closed || port->waiting.size() >= wires_.options_.backlog) {
        co_return unavailable("cannot connect to {}: refused", address.to_string());
    }
    auto connection = std::make_shared<SimConnection>();
    connection->out(0).from = connection->out(1).to = host_;
    connection->out(0).to = connection->out(1).from = target;
    std::erase_if(wires_.connections_, [](const auto& weak) { return weak.expired(); });
    wires_.connections_.push_back(connection);
    const Address from{host_, ++wires_.last_port_};
    port->waiting.push_back(std::make_unique<SimStream>(wires_, connection, 1, from));
    port->changed.notify_all();
    co_return std::make_unique<SimStream>(wires_, std::move(connection), 0, std::move(address));
}

}  // namespace lakestream::net
