// SPDX-License-Identifier: Apache-2.0
// The server over simulated wires: answers, limits, bad clients and stopping.
#include "http/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "http/health.h"
#include "http/metrics_handler.h"
#include "net/sim/network.h"
#include "rt/sim/testing.h"

namespace lakestream::http {
namespace {

/// Tells what it was asked, after `delay`.
class EchoHandler final : public Handler {
  public:
    explicit EchoHandler(Duration delay) : delay_(delay) {}

    rt::Task<Response> handle(Request request) override {
        rt::Executor& executor = co_await rt::this_executor();
        co_await rt::sleep_until(executor.now() + delay_);
        co_return Response{
            .content_type = "text/plain", .body = request.path + "," + request.query
        };
    }

  private:
    Duration delay_;
};

class HttpServerTest : public testing::Test {
  public:
    HttpServerTest() {
        server_.route("/echo", std::make_unique<EchoHandler>(0ms));
        server_.route("/slow", std::make_unique<EchoHandler>(500ms));
        server_.start(network_.listen(sim_.executor, {"0.0.0.0", 9644}).value());
    }
    ~HttpServerTest() override { sim_.run(server_.stop(sim_.executor.now() + 1s)); }

  protected:
    rt::Task<std::unique_ptr<net::Stream>> connect() {
        co_return (co_await client_.connect({"server", 9644}, no_deadline)).value();
    }

    /// Everything until the server hangs up.
    rt::Task<std::string> read_all(net::Stream& stream) {
        std::string all;
        std::vector<std::byte> buffer(1000);
        while (true) {
            const auto count = co_await stream.read_some(buffer, no_deadline);
            if (count.value_or(0) == 0) {
                co_return all;
            }
            all.append(reinterpret_cast<const char*>(buffer.data()), *count);
        }
    }

    rt::Task<std::string> exchange(std::string text) {
        const auto stream = co_await connect();
        // The server may have hung up before it took everything.
        static_cast<void>(co_await stream->write(Slices(Bytes::own(std::move(text))), no_deadline));
        co_return co_await read_all(*stream);
    }

    std::string ask(std::string text) { return sim_.run(exchange(std::move(text))); }

    std::string get(std::string_view path) {
        return ask(fmt::format("GET {} HTTP/1.1\r\nConnection: close\r\n\r\n", path));
    }

    rt::SimTest sim_;
    net::SimWires wires_{sim_.loop, 2};
    net::SimNetwork network_{wires_, "server"};
    net::SimNetwork client_{wires_, "client"};
    Server server_{sim_.executor, {.connections_max = 4}};
};

TEST_F(HttpServerTest, answers_a_get) {
    EXPECT_EQ(
        get("/echo?a=b"),
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n"
        "Connection: close\r\n\r\n/echo,a=b"
    );
}

TEST_F(HttpServerTest, answers_a_head_without_the_body) {
    const std::string answer = ask("HEAD /echo HTTP/1.0\r\n\r\n");
    EXPECT_NE(answer.find("Content-Length: 6\r\n"), std::string::npos);
    EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, answers_several_requests_of_a_connection_in_order) {
    const std::string answer =
        ask("GET /slow?1 HTTP/1.1\r\n\r\nGET /echo?2 HTTP/1.1\r\n\r\nGET /echo?3 HTTP/1.0\r\n\r\n");
    const std::size_t first = answer.find("/slow,1");
    const std::size_t second = answer.find("/echo,2");
    EXPECT_LT(first, second);
    EXPECT_LT(second, answer.find("/echo,3"));
    EXPECT_TRUE(answer.ends_with("/echo,3"));
}

TEST_F(HttpServerTest, refuses_in_kind) {
    EXPECT_TRUE(get("/none").starts_with("HTTP/1.1 404 Not Found\r\n"));
    EXPECT_TRUE(get("/echo/more").starts_with("HTTP/1.1 404"));
    const std::string post =
        ask("POST /echo HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
    EXPECT_TRUE(post.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
    EXPECT_NE(post.find("Allow: GET, HEAD\r\n"), std::string::npos);
    EXPECT_TRUE(ask("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 Bad Request\r\n"));
    EXPECT_TRUE(ask("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x')).starts_with("HTTP/1.1 431")
    );
    EXPECT_TRUE(
        ask("POST /echo HTTP/1.1\r\nContent-Length: 2147483647\r\n\r\n").starts_with("HTTP/1.1 413")
    );
    EXPECT_TRUE(ask("GET /\xff HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 "));
}

TEST_F(HttpServerTest, hangs_up_on_who_is_slow_or_silent) {
    const MonoTime begin = sim_.executor.now();
    EXPECT_EQ(ask(""), "");
    EXPECT_GE(sim_.executor.now(), begin + 60s);
    const MonoTime second = sim_.executor.now();
    EXPECT_EQ(ask("GET / HT"), "");
    EXPECT_LT(sim_.executor.now(), second + 11s);
}

rt::Task<std::vector<std::unique_ptr<net::Stream>>> connect_many(
    net::Network& network, std::size_t count
) {
    std::vector<std::unique_ptr<net::Stream>> streams;
    for (std::size_t i = 0; i < count; ++i) {
        streams.push_back((co_await network.connect({"server", 9644}, no_deadline)).value());
    }
    co_return streams;
}

/// Whether the server has hung up.
rt::Task<bool> ended(net::Stream& stream, MonoTime now) {
    std::array<std::byte, 10> into{};
    const auto count = co_await stream.read_some(into, now + 1ms);
    co_return !count.is(ErrorCode::deadline_exceeded);
}

TEST_F(HttpServerTest, closes_the_oldest_idle_connection_for_a_new_one) {
    auto streams = sim_.run(connect_many(client_, 4));
    sim_.loop.run_for(1s);
    EXPECT_EQ(server_.connections().value(), 4);
    EXPECT_TRUE(get("/echo").starts_with("HTTP/1.1 200"));
    EXPECT_EQ(server_.evictions().value(), 1U);
    EXPECT_TRUE(sim_.run(ended(*streams[0], sim_.executor.now())));
    EXPECT_FALSE(sim_.run(ended(*streams[1], sim_.executor.now())));
    EXPECT_TRUE(get("/echo").starts_with("HTTP/1.1 200"));
    EXPECT_EQ(server_.evictions().value(), 1U);
}

TEST_F(HttpServerTest, closes_who_stands_still_for_longest_when_none_is_idle) {
    auto streams = sim_.run(connect_many(client_, 4));
    for (const auto& stream : streams) {
        ASSERT_TRUE(sim_.run(stream->write(Slices(Bytes::copy("GET /e")), no_deadline)).ok());
        sim_.loop.run_for(100ms);
    }
    ASSERT_TRUE(sim_.run(streams[0]->write(Slices(Bytes::copy("cho")), no_deadline)).ok());
    sim_.loop.run_for(100ms);
    EXPECT_TRUE(get("/echo").starts_with("HTTP/1.1 200"));
    EXPECT_TRUE(sim_.run(ended(*streams[1], sim_.executor.now())));
    EXPECT_FALSE(sim_.run(ended(*streams[0], sim_.executor.now())));
}

TEST_F(HttpServerTest, a_crowd_of_silent_clients_keeps_no_probe_out) {
    auto streams = sim_.run(connect_many(client_, 200));
    EXPECT_TRUE(get("/echo").starts_with("HTTP/1.1 200"));
    EXPECT_LE(server_.connections().value(), 4);
}

TEST_F(HttpServerTest, of_a_rush_everybody_is_taken) {
    std::vector<rt::Future<std::vector<std::unique_ptr<net::Stream>>>> rush;
    for (int i = 0; i < 100; ++i) {
        rush.push_back(rt::submit(sim_.executor, connect_many(client_, 1)));
    }
    sim_.loop.run_for(1s);
    EXPECT_EQ(server_.evictions().value(), 96U);  // a probe would not have been dropped
    EXPECT_TRUE(get("/echo").starts_with("HTTP/1.1 200"));
}

rt::Task<bool> ask_and_tell(rt::Task<std::string> asking, std::string& answer) {
    answer = co_await std::move(asking);
    co_return true;
}

TEST_F(HttpServerTest, finishes_what_was_asked_before_it_stops) {
    std::string slow;
    std::string idle = "?";
    auto first =
        rt::submit(sim_.executor, ask_and_tell(exchange("GET /slow HTTP/1.1\r\n\r\n"), slow));
    auto second = rt::submit(sim_.executor, ask_and_tell(exchange(""), idle));
    sim_.loop.run_for(100ms);
    const MonoTime begin = sim_.executor.now();
    sim_.run(server_.stop(begin + 10s));
    EXPECT_LT(sim_.executor.now(), begin + 1s);
    sim_.loop.run_for(100ms);
    EXPECT_TRUE(slow.ends_with("/slow,"));
    EXPECT_NE(slow.find("Connection: close"), std::string::npos);
    EXPECT_EQ(idle, "");
}

TEST_F(HttpServerTest, stops_at_the_deadline_at_the_latest) {
    std::string slow = "?";
    auto asking =
        rt::submit(sim_.executor, ask_and_tell(exchange("GET /slow HTTP/1.1\r\n\r\n"), slow));
    sim_.loop.run_for(100ms);
    const MonoTime begin = sim_.executor.now();
    sim_.run(server_.stop(begin + 200ms));
    sim_.loop.run_for(5s);
    EXPECT_EQ(slow, "");
}

/// Asks until no more of it is taken, and reads nothing.
rt::Task<bool> ask_without_reading(net::Stream& stream, Deadline deadline) {
    std::string many;
    for (int i = 0; i < 1000; ++i) {
        many += "GET /echo HTTP/1.1\r\n\r\n";
    }
    const Bytes requests = Bytes::own(std::move(many));
    while ((co_await stream.write(Slices(requests), deadline)).ok()) {
    }
    co_return true;
}

TEST_F(HttpServerTest, who_does_not_read_does_not_hold_up_a_stop) {
    const auto stream = sim_.run(connect());
    const MonoTime begin = sim_.executor.now() + 1s;
    auto asking = rt::submit(sim_.executor, ask_without_reading(*stream, begin));
    sim_.loop.run_for(1s);
    sim_.run(server_.stop(begin + 30s));
    EXPECT_GE(sim_.executor.now(), begin + 1s);  // it does hold it up
    EXPECT_LE(sim_.executor.now(), begin + 2s);
}

TEST(Health, tells_what_is_not_ready_and_why) {
    rt::SimTest sim;
    Readiness readiness;
    EXPECT_EQ(readiness.report().body, "{\"ready\":true,\"checks\":[]}\n");
    Status metadata = unavailable("no \"answer\"");
    readiness.add("listener", [] { return Status(); });
    readiness.add("metadata", [&] { return metadata; });
    ReadyHandler handler(readiness);
    Response response = sim.run(handler.handle({}));
    EXPECT_EQ(response.status, 503);
    const auto body = nlohmann::json::parse(response.body);
    EXPECT_EQ(body["ready"], false);
    EXPECT_EQ(body["checks"][0]["ok"], true);
    EXPECT_EQ(body["checks"][1]["name"], "metadata");
    EXPECT_EQ(body["checks"][1]["reason"], "unavailable: no \"answer\"");
    metadata = {};
    response = sim.run(handler.handle({}));
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(nlohmann::json::parse(response.body)["ready"], true);
    EXPECT_EQ(sim.run(LiveHandler().handle({})).status, 200);
}

TEST(Metrics, are_written_as_prometheus_reads_them) {
    metrics::Registry registry;
    metrics::Counter produced;
    metrics::Counter fetched;
    metrics::Gauge open;
    constexpr double bounds[] = {0.001, 1};
    metrics::Histogram latency(bounds);
    registry.add(
        "lakestream_kafka_requests_total", "Requests\nby \\ API.", produced, {{"api", "a\"\\\n"}}
    );
    registry.add("lakestream_kafka_connections", "Open.", open);
    registry.add(
        "lakestream_kafka_requests_total", "Requests.", fetched, {{"api", "b"}, {"v", "1"}}
    );
    registry.add("lakestream_wal_put_seconds", "Latency.", latency, {{"store", "local"}});
    registry.add_collected(
        "lakestream_table_lag_seconds",
        "Lag.",
        metrics::Entry::Kind::gauge,
        {"topic"},
        [] { return std::vector<metrics::Sample>{{.labels = {{"topic", "t"}}, .value = 2.5}}; }
    );
    produced.add(3);
    open.set(-2);
    for (const double seconds : {0.0005, 0.5, 5.0}) {
        latency.observe(seconds);
    }
    EXPECT_EQ(
        prometheus_text(registry),
        "# HELP lakestream_kafka_connections Open.\n"
        "# TYPE lakestream_kafka_connections gauge\n"
        "lakestream_kafka_connections -2\n"
        "# HELP lakestream_kafka_requests_total Requests\\nby \\\\ API.\n"
        "# TYPE lakestream_kafka_requests_total counter\n"
        "lakestream_kafka_requests_total{api=\"a\\\"\\\\\\n\"} 3\n"
        "lakestream_kafka_requests_total{api=\"b\",v=\"1\"} 0\n"
        "# HELP lakestream_table_lag_seconds Lag.\n"
        "# TYPE lakestream_table_lag_seconds gauge\n"
        "lakestream_table_lag_seconds{topic=\"t\"} 2.5\n"
        "# HELP lakestream_wal_put_seconds Latency.\n"
        "# TYPE lakestream_wal_put_seconds histogram\n"
        "lakestream_wal_put_seconds_bucket{store=\"local\",le=\"0.001\"} 1\n"
        "lakestream_wal_put_seconds_bucket{store=\"local\",le=\"1\"} 2\n"
        "lakestream_wal_put_seconds_bucket{store=\"local\",le=\"+Inf\"} 3\n"
        "lakestream_wal_put_seconds_sum{store=\"local\"} 5.5005\n"
        "lakestream_wal_put_seconds_count{store=\"local\"} 3\n"
    );
    EXPECT_EQ(prometheus_text(metrics::Registry()), "");
}

}  // namespace
}  // namespace lakestream::http
