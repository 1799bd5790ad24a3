// SPDX-License-Identifier: Apache-2.0
// The contract of Network: the same tests over TCP and over simulated wires.
#include "net/epoll/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "net/sim/network.h"
#include "rt/epoll/threads.h"
#include "rt/scope.h"
#include "rt/sim/testing.h"

namespace lakestream::net {
namespace {

/// A server's and a client's end of the network, and a way to run a task to its end.
class World {
  public:
    virtual ~World() = default;
    virtual Network& server() = 0;
    virtual Network& client() = 0;
    virtual std::string server_host() = 0;
    virtual rt::Executor& executor() = 0;        // of the tasks that run
    virtual rt::Executor& other_executor() = 0;  // another one
    virtual void run(rt::Task<void> task) = 0;
};

class SimWorld final : public World {
  public:
    Network& server() override { return server_; }
    Network& client() override { return client_; }
    std::string server_host() override { return "server"; }
    rt::Executor& executor() override { return sim_.executor; }
    rt::Executor& other_executor() override { return other_; }
    void run(rt::Task<void> task) override { sim_.run(std::move(task)); }

  private:
    rt::SimTest sim_;
    rt::SimExecutor other_{sim_.loop, sim_.clock, 2};
    SimWires wires_{sim_.loop, 3};
    SimNetwork server_{wires_, "server"};
    SimNetwork client_{wires_, "client"};
};

rt::Task<bool> run_and_tell(rt::Task<void> task, std::promise<void>& done) {
    co_await std::move(task);
    done.set_value();
    co_return true;
}

class EpollWorld final : public World {
  public:
    Network& server() override { return network_; }
    Network& client() override { return network_; }
    std::string server_host() override { return "127.0.0.1"; }
    rt::Executor& executor() override { return loops_[0]; }
    rt::Executor& other_executor() override { return loops_[1]; }
    void run(rt::Task<void> task) override {
        std::promise<void> done;
        const auto running = rt::submit(loops_[0], run_and_tell(std::move(task), done));
        done.get_future().wait();
    }

  private:
    rt::SystemClock clock_;
    rt::ThreadPool resolver_{"resolver", 1, rt::ThreadPriority::normal};
    EpollNetwork network_{resolver_};
    rt::LoopThreads loops_{clock_, 2};
};

struct Kind {
    const char* name;
    std::unique_ptr<World> (*make)();
};

class NetworkTest : public testing::TestWithParam<Kind> {
  protected:
    void run(rt::Task<void> (*body)(World&)) {
        const std::unique_ptr<World> world = GetParam().make();
        world->run(body(*world));
    }
};

INSTANTIATE_TEST_SUITE_P(
    All,
    NetworkTest,
    testing::Values(
        Kind{"sim", []() -> std::unique_ptr<World> { return std::make_unique<SimWorld>(); }},
        Kind{"epoll", []() -> std::unique_ptr<World> { return std::make_unique<EpollWorld>(); }}
    ),
    [](const auto& info) { return info.param.name; }
);

/// Both ends of a connection, living on the task's executor.
struct Pair {
    std::unique_ptr<Listener> listener;
    std::unique_ptr<Stream> client;
    std::unique_ptr<Stream> server;
};

rt::Task<Pair> make_pair(World& world) {
    Pair pair;
    pair.listener = world.server().listen(world.executor(), {world.server_host(), 0}).value();
    const Address address = pair.listener->address();
    pair.client = (co_await world.client().connect(address, no_deadline)).value();
    pair.server = (co_await pair.listener->accept(world.executor())).value();
    co_return pair;
}

rt::Task<std::string> read_all(Stream& stream, std::size_t buffer_bytes) {
    std::string all;
    std::vector<std::byte> buffer(buffer_bytes);
    while (true) {
        const std::size_t count = (co_await stream.read_some(buffer, no_deadline)).value();
        if (count == 0) {
            co_return all;
        }
        all.append(reinterpret_cast<const char*>(buffer.data()), count);
    }
}

Slices slices(std::string text) {
    return Slices(Bytes::own(std::move(text)));
}

rt::Task<void> echo(World& world) {
    Pair pair = co_await make_pair(world);
    EXPECT_TRUE((co_await pair.client->write(slices("hello"), no_deadline)).ok());
    std::vector<std::byte> buffer(64);
    std::string got;
    while (got.size() < 5) {
        const auto count = (co_await pair.server->read_some(buffer, no_deadline)).value();
        got.append(reinterpret_cast<const char*>(buffer.data()), count);
    }
    EXPECT_EQ(got, "hello");
    EXPECT_TRUE((co_await pair.server->write(slices(got), no_deadline)).ok());
    pair.server->close();
    EXPECT_EQ(co_await read_all(*pair.client, 2), "hello");
}

TEST_P(NetworkTest, carries_bytes_both_ways_and_ends_after_the_last) {
    run(echo);
}

rt::Task<void> write_then_close(Stream& stream, Slices data) {
    EXPECT_TRUE((co_await stream.write(std::move(data), no_deadline)).ok());
    stream.close();
}

/// 2,000 slices of odd sizes: several gathered calls, each cut short somewhere.
rt::Task<void> large_gather(World& world) {
    Pair pair = co_await make_pair(world);
    Slices data;
    std::string expected;
    for (std::size_t i = 0; i < 2000; ++i) {
        std::string part(1 + i * 37 % 2900, static_cast<char>('a' + i % 26));
        expected += part;
        data.append(Bytes::own(std::move(part)));
    }
    rt::TaskScope scope(co_await rt::this_executor());
    scope.spawn(write_then_close(*pair.client, std::move(data)));
    const std::string got = co_await read_all(*pair.server, 10'000);
    EXPECT_EQ(got.size(), expected.size());
    EXPECT_TRUE(got == expected);
    co_await scope.close();
}

TEST_P(NetworkTest, gathers_large_writes_in_order) {
    run(large_gather);
}

/// More than the system's buffers take: the write must wait, not hoard.
rt::Task<void> slow_reader(World& world) {
    Pair pair = co_await make_pair(world);
    rt::Executor& executor = co_await rt::this_executor();
    const Status status =
        co_await pair.client->write(slices(std::string(64 << 20, 'x')), executor.now() + 200ms);
    EXPECT_TRUE(status.is(ErrorCode::deadline_exceeded)) << status.error().to_string();
}

TEST_P(NetworkTest, a_reader_that_stops_holds_the_writer_back) {
    run(slow_reader);
}

rt::Task<void> close_soon(Stream& stream) {
    rt::Executor& executor = co_await rt::this_executor();
    co_await rt::sleep_until(executor.now() + 5ms);
    stream.close();
}

rt::Task<void> close_while_reading(World& world) {
    Pair pair = co_await make_pair(world);
    rt::TaskScope scope(co_await rt::this_executor());
    scope.spawn(close_soon(*pair.server));
    std::vector<std::byte> buffer(16);
    const auto read = co_await pair.server->read_some(buffer, no_deadline);
    EXPECT_TRUE(read.is(ErrorCode::cancelled));
    pair.server->close();  // again: nothing happens
    const auto later = co_await pair.server->write(slices("x"), no_deadline);
    EXPECT_TRUE(later.is(ErrorCode::cancelled));
    co_await scope.close();
}

TEST_P(NetworkTest, closing_ends_a_pending_read) {
    run(close_while_reading);
}

rt::Task<void> close_while_writing(World& world) {
    Pair pair = co_await make_pair(world);
    rt::TaskScope scope(co_await rt::this_executor());
    scope.spawn(close_soon(*pair.client));
    const auto written =
        co_await pair.client->write(slices(std::string(64 << 20, 'x')), no_deadline);
    EXPECT_TRUE(written.is(ErrorCode::cancelled));
    co_await scope.close();
}

TEST_P(NetworkTest, closing_ends_a_pending_write) {
    run(close_while_writing);
}

rt::Task<void> peer_closes(World& world) {
    Pair pair = co_await make_pair(world);
    pair.server->close();
    Status status;
    for (int i = 0; i < 1000 && status.ok(); ++i) {  // the first ones may still be taken
        status = co_await pair.client->write(slices(std::string(10'000, 'x')), no_deadline);
    }
    EXPECT_TRUE(status.is(ErrorCode::unavailable));
}

TEST_P(NetworkTest, writing_to_a_closed_peer_fails) {
    run(peer_closes);
}

rt::Task<void> read_deadline(World& world) {
    Pair pair = co_await make_pair(world);
    rt::Executor& executor = co_await rt::this_executor();
    std::vector<std::byte> buffer(16);
    const MonoTime end = executor.now() + 20ms;
    const auto read = co_await pair.server->read_some(buffer, end);
    EXPECT_TRUE(read.is(ErrorCode::deadline_exceeded));
    EXPECT_GE(executor.now(), end);
    EXPECT_TRUE((co_await pair.client->write(slices("later"), no_deadline)).ok());
    EXPECT_EQ((co_await pair.server->read_some(buffer, no_deadline)).value_or(0) > 0, true);
}

TEST_P(NetworkTest, a_read_ends_at_its_deadline_and_can_be_repeated) {
    run(read_deadline);
}

rt::Task<void> close_listener_soon(Listener& listener) {
    rt::Executor& executor = co_await rt::this_executor();
    co_await rt::sleep_until(executor.now() + 5ms);
    listener.close();
}

rt::Task<void> close_listener(World& world) {
    auto listener = world.server().listen(world.executor(), {world.server_host(), 0}).value();
    const Address address = listener->address();
    EXPECT_NE(address.port, 0);
    rt::TaskScope scope(co_await rt::this_executor());
    scope.spawn(close_listener_soon(*listener));
    const auto accepted = co_await listener->accept(world.executor());
    EXPECT_EQ(accepted.error().code, ErrorCode::cancelled);
    co_await scope.close();
    const auto refused = co_await world.client().connect(address, no_deadline);
    EXPECT_TRUE(refused.is(ErrorCode::unavailable));
    EXPECT_NE(refused.error().message.find(address.to_string()), std::string::npos);
}

TEST_P(NetworkTest, a_closed_listener_accepts_nothing) {
    run(close_listener);
}

rt::Task<void> taken_port(World& world) {
    auto first = world.server().listen(world.executor(), {world.server_host(), 0}).value();
    const Address address = first->address();
    const auto second = world.server().listen(world.executor(), address);
    EXPECT_TRUE(second.is(ErrorCode::already_exists));
    EXPECT_NE(second.error().message.find(address.to_string()), std::string::npos);
    const auto foreign = world.server().listen(world.executor(), {"192.0.2.1", 9092});
    EXPECT_TRUE(foreign.is(ErrorCode::invalid_argument));
    EXPECT_NE(foreign.error().message.find("192.0.2.1:9092"), std::string::npos);
    first->close();
    EXPECT_TRUE(world.server().listen(world.executor(), address).ok());
    co_return;
}

TEST_P(NetworkTest, a_taken_port_is_named) {
    run(taken_port);
}

rt::Task<Status> serve_once(std::unique_ptr<Stream> stream) {
    std::vector<std::byte> buffer(64);
    const std::size_t count = LKS_CO_TRY(co_await stream->read_some(buffer, no_deadline));
    Slices answer(Bytes::copy(std::span(buffer).first(count)));
    co_return co_await stream->write(std::move(answer), no_deadline);
}

rt::Task<std::string> ask(World& world, Address address) {
    auto stream = (co_await world.client().connect(std::move(address), no_deadline)).value();
    EXPECT_TRUE((co_await stream->write(slices("?"), no_deadline)).ok());
    co_return co_await read_all(*stream, 16);
}

rt::Task<void> ask_many(World& world, Address address, int count) {
    for (int i = 0; i < count; ++i) {
        EXPECT_EQ(co_await ask(world, address), "?");
    }
}

/// Accepted on one executor, served on another.
rt::Task<void> handed_over(World& world) {
    auto listener = world.server().listen(world.executor(), {world.server_host(), 0}).value();
    rt::TaskScope scope(co_await rt::this_executor());
    constexpr int count = 40;
    scope.spawn(ask_many(world, listener->address(), count));
    std::vector<rt::Future<Status>> served;
    for (int i = 0; i < count; ++i) {
        auto stream = (co_await listener->accept(world.other_executor())).value();
        EXPECT_FALSE(stream->peer().host.empty());
        served.push_back(rt::submit(world.other_executor(), serve_once(std::move(stream))));
    }
    for (rt::Future<Status>& each : served) {
        EXPECT_TRUE((co_await std::move(each)).ok());
    }
    co_await scope.close();
}

TEST_P(NetworkTest, a_stream_may_live_on_another_executor_than_its_listener) {
    run(handed_over);
}

TEST(Address, is_read_and_printed) {
    EXPECT_EQ(Address::parse("127.0.0.1:9092").value(), (Address{"127.0.0.1", 9092}));
    EXPECT_EQ(Address::parse("broker-1.example:0").value(), (Address{"broker-1.example", 0}));
    EXPECT_EQ(Address::parse("[::1]:65535").value(), (Address{"::1", 65535}));
    for (const char* text : {"localhost:1", "10.0.0.1:9644", "[fe80::1]:80"}) {
        EXPECT_EQ(Address::parse(text).value().to_string(), text);
    }
}

TEST(Address, refuses_what_is_none_and_names_it) {
    for (const char* text :
         {"",
          ":",
          ":9092",
          "host",
          "host:",
          "host:x",
          "host:-1",
          "host:65536",
          "host:1 ",
          "a b:1",
          "::1:9092",
          "[::1]",
          "[::1]x:1",
          "[host]:1",
          "[]:1",
          "host/path:1"}) {
        const auto parsed = Address::parse(text);
        EXPECT_TRUE(parsed.is(ErrorCode::invalid_argument)) << text;
        EXPECT_NE(parsed.error().message.find(fmt::format("'{}'", text)), std::string::npos);
    }
    EXPECT_FALSE(Address::parse(std::string(254, 'a') + ":1").ok());
}

}  // namespace
}  // namespace lakestream::net
