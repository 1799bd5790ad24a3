// SPDX-License-Identifier: Apache-2.0
// What only the simulated wires can do: cut, crash, reset, and repeat it all from the seed.
#include "net/sim/network.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rt/sim/testing.h"

namespace lakestream::net {
namespace {

struct Wired {
    explicit Wired(std::uint64_t seed = 1, SimWiresOptions options = {})
        : sim(seed), wires(sim.loop, seed, options) {}

    rt::Task<void> connect() {
        listener = server_network.listen(sim.executor, {"0.0.0.0", 9092}).value();
        client = (co_await client_network.connect({"server", 9092}, no_deadline)).value();
        server = (co_await listener->accept(sim.executor)).value();
    }

    rt::Task<Result<std::string>> read(Stream& stream, Duration patience) {
        std::vector<std::byte> buffer(100);
        const auto count =
            LKS_CO_TRY(co_await stream.read_some(buffer, sim.executor.now() + patience));
        co_return std::string(reinterpret_cast<const char*>(buffer.data()), count);
    }

    rt::Task<Status> write(Stream& stream, std::string text) {
        co_return co_await stream.write(
            Slices(Bytes::own(std::move(text))), sim.executor.now() + 1s
        );
    }

    rt::SimTest sim;
    SimWires wires;
    SimNetwork server_network{wires, "server"};
    SimNetwork client_network{wires, "client"};
    std::unique_ptr<Listener> listener;
    std::unique_ptr<Stream> client;
    std::unique_ptr<Stream> server;
};

TEST(SimNetwork, a_cut_off_host_hears_nothing_until_it_is_healed) {
    Wired net;
    net.sim.run(net.connect());
    net.wires.set_cut_off("server", true);
    EXPECT_TRUE(net.sim.run(net.write(*net.client, "x")).ok());
    EXPECT_TRUE(net.sim.run(net.read(*net.server, 10s)).is(ErrorCode::deadline_exceeded));
    const auto late = net.sim.executor.now() + 1s;
    EXPECT_TRUE(net.sim.run(net.client_network.connect({"server", 9092}, late))
                    .is(ErrorCode::deadline_exceeded));
    net.wires.set_cut_off("server", false);
    EXPECT_EQ(net.sim.run(net.read(*net.server, 1s)).value(), "x");
    EXPECT_TRUE(net.sim.run(net.client_network.connect({"server", 9092}, no_deadline)).ok());
}

TEST(SimNetwork, the_peer_of_a_crashed_host_learns_it_only_by_sending) {
    Wired net;
    net.sim.run(net.connect());
    net.wires.crash("server");
    net.server.reset();
    net.listener.reset();
    EXPECT_TRUE(net.sim.run(net.read(*net.client, 100s)).is(ErrorCode::deadline_exceeded));
    EXPECT_TRUE(net.sim.run(net.write(*net.client, "anybody?")).ok());
    EXPECT_TRUE(net.sim.run(net.read(*net.client, 1s)).is(ErrorCode::unavailable));
    EXPECT_TRUE(net.sim.run(net.client_network.connect({"server", 9092}, no_deadline))
                    .is(ErrorCode::unavailable));
    net.sim.run(net.connect());  // it comes up again
    EXPECT_TRUE(net.sim.run(net.write(*net.client, "x")).ok());
    EXPECT_EQ(net.sim.run(net.read(*net.server, 1s)).value(), "x");
}

TEST(SimNetwork, a_reset_ends_both_sides) {
    Wired net;
    net.sim.run(net.connect());
    EXPECT_TRUE(net.sim.run(net.write(*net.client, "lost")).ok());
    net.wires.reset_all("client");
    EXPECT_TRUE(net.sim.run(net.read(*net.server, 1s)).is(ErrorCode::unavailable));
    EXPECT_TRUE(net.sim.run(net.write(*net.client, "x")).is(ErrorCode::unavailable));
    EXPECT_EQ(net.wires.bytes_held(), 0U);
}

TEST(SimNetwork, resets_come_by_chance) {
    Wired net(7, {.resets_per_million_segments = 500'000});
    net.sim.run(net.connect());
    EXPECT_TRUE(
        net.sim.run(net.write(*net.client, std::string(60'000, 'x'))).is(ErrorCode::unavailable)
    );
    Wired healed(7, {.resets_per_million_segments = 500'000});
    healed.wires.heal();
    healed.sim.run(healed.connect());
    EXPECT_TRUE(healed.sim.run(healed.write(*healed.client, std::string(60'000, 'x'))).ok());
}

TEST(SimNetwork, holds_at_most_the_window) {
    Wired net(1, {.window_bytes = 10'000});
    net.sim.run(net.connect());
    EXPECT_TRUE(net.sim.run(net.write(*net.client, std::string(50'000, 'x')))
                    .is(ErrorCode::deadline_exceeded));
    EXPECT_LE(net.wires.bytes_held(), 10'000U);
    EXPECT_GT(net.wires.bytes_held(), 10'000U - net::SimWiresOptions().segment_bytes_max);
}

std::uint64_t trace_of(std::uint64_t seed) {
    Wired net(seed);
    net.sim.run(net.connect());
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(net.sim.run(net.write(*net.client, std::string(3000, 'x'))).ok());
        EXPECT_TRUE(net.sim.run(net.read(*net.server, 1s)).ok());
    }
    return net.sim.loop.trace();
}

TEST(SimNetwork, the_seed_decides) {
    EXPECT_EQ(trace_of(5), trace_of(5));
    EXPECT_NE(trace_of(5), trace_of(6));
}

}  // namespace
}  // namespace lakestream::net
