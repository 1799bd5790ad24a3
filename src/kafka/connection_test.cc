// SPDX-License-Identifier: Apache-2.0
// Connections: order, limits, bad frames, slow and silent clients, stopping.
#include "kafka/connection.h"

#include <gtest/gtest.h>

#include "codec/kafka/gen/api_versions.h"
#include "codec/kafka/gen/fetch.h"
#include "codec/kafka/gen/list_offsets.h"
#include "codec/kafka/gen/metadata.h"
#include "codec/kafka/gen/produce.h"
#include "kafka/testing/broker.h"

namespace lakestream::kafka {
namespace {

using codec::kafka::ApiKey;
using codec::kafka::ApiVersionsRequest;
using codec::kafka::ApiVersionsResponse;
using codec::kafka::FetchRequest;
using codec::kafka::FetchResponse;
using codec::kafka::MetadataRequest;
using codec::kafka::MetadataResponse;
using codec::kafka::ProduceRequest;
using codec::kafka::ProduceResponse;
using testing::batch_of;
using testing::TestBroker;
using testing::TestClient;

constexpr std::int64_t now = 1'782'860'000'000;

Slices bytes_of(std::initializer_list<int> bytes) {
    std::vector<std::byte> out;
    for (const int byte : bytes) {
        out.push_back(static_cast<std::byte>(byte));
    }
    return Slices(Bytes::own(std::move(out)));
}

ProduceRequest produce_request(std::string value, std::string topic = "events") {
    return ProduceRequest{
        .acks = -1,
        .timeout_ms = 10'000,
        .topic_data =
            {{.name = std::move(topic),
              .partition_data = {{.index = 0, .records = batch_of({{now, std::move(value)}})}}}},
    };
}

FetchRequest fetch_request(std::int32_t max_wait_ms) {
    return FetchRequest{
        .max_wait_ms = max_wait_ms,
        .min_bytes = 1,
        .topics =
            {{.topic = "events", .partitions = {{.partition = 0, .partition_max_bytes = 8 << 20}}}},
    };
}

bool alive(TestClient& client) {
    return client.call<ApiVersionsResponse>(ApiVersionsRequest{}, 0).error_code == KafkaError::none;
}

TEST(Connection, answers_in_the_order_of_requests_though_a_later_one_is_ready_first) {
    TestBroker broker;
    broker.catalog.add("events", 1);
    TestClient client = broker.connect();
    broker.engine.hold_appends = true;
    const std::int32_t produce = client.send(produce_request("a"), 9);
    const std::int32_t metadata = client.send(MetadataRequest{}, 9);
    const std::int32_t fetch = client.send(fetch_request(100), 11);
    broker.sim.loop.run_for(1s);
    EXPECT_EQ(broker.engine.held(), 1);
    broker.engine.release();
    client.receive<ProduceResponse>(produce, 9);
    client.receive<MetadataResponse>(metadata, 9);
    client.receive<FetchResponse>(fetch, 11);
}

TEST(Connection, sizes_that_are_not_allowed_end_it_and_no_other) {
    ServerOptions options;
    options.connection.request_bytes_max = 1000;
    const std::initializer_list<std::initializer_list<int>> sizes = {
        {0x7f, 0xff, 0xff, 0xff},
        {0x80, 0, 0, 0},
        {0xff, 0xff, 0xff, 0xff},
        {0, 0, 0, 0},
        {0, 0, 0, 7},
        {0, 0, 3, 0xe9}
    };
    TestBroker broker(options);
    TestClient other = broker.connect();
    for (const auto& size : sizes) {
        TestClient client = broker.connect();
        ASSERT_TRUE(client.send_bytes(bytes_of(size)));
        EXPECT_TRUE(client.hung_up());
    }
    EXPECT_EQ(broker.metrics.requests_refused.value(), 6);
    EXPECT_TRUE(alive(other));
}

TEST(Connection, unknown_apis_and_versions_end_it) {
    TestBroker broker;
    for (const auto& [key, version] :
         std::initializer_list<std::pair<int, int>>{{999, 0}, {-1, 0}, {8, 2}, {0, 2}, {1, 99}}) {
        TestClient client = broker.connect();
        ASSERT_TRUE(client.send_bytes(bytes_of(
            {0, 0, 0, 10, (key >> 8) & 0xff, key & 0xff, 0, version, 0, 0, 0, 1, 0xff, 0xff}
        )));
        EXPECT_TRUE(client.hung_up()) << key << " " << version;
    }
}

TEST(Connection, malformed_bodies_are_answered_where_there_is_a_place) {
    TestBroker broker;
    const auto garbage = [](codec::Writer& writer) { writer.raw(std::string_view("\x7f", 1)); };
    TestClient client = broker.connect();
    const std::int32_t fetch = client.send_body(ApiKey::fetch, 12, garbage);
    EXPECT_EQ(client.receive<FetchResponse>(fetch, 12).error_code, KafkaError::invalid_request);
    const std::int32_t metadata = client.send_body(ApiKey::metadata, 13, garbage);
    EXPECT_EQ(
        client.receive<MetadataResponse>(metadata, 13).error_code, KafkaError::invalid_request
    );
    client.send_body(ApiKey::produce, 9, garbage);
    EXPECT_TRUE(client.hung_up());
}

TEST(Connection, what_came_before_a_bad_frame_is_answered) {
    TestBroker broker;
    TestClient client = broker.connect();
    const std::int32_t first = client.send(ApiVersionsRequest{}, 0);
    client.send_bytes(bytes_of({0x7f, 0xff, 0xff, 0xff}));
    client.receive<ApiVersionsResponse>(first, 0);
    EXPECT_TRUE(client.hung_up());
}

TEST(Connection, a_claim_alone_takes_no_memory_and_stalls_only_for_a_while) {
    ServerOptions options;
    options.connection.stall_max = 5s;
    TestBroker broker(options);
    TestClient client = broker.connect();
    // A Produce request of 100 MiB that never comes.
    client.send_bytes(bytes_of({0x06, 0x40, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1}));
    broker.sim.loop.run_for(1s);
    EXPECT_LT(broker.metrics.request_bytes.value(), 3 << 20);
    TestClient other = broker.connect();
    EXPECT_TRUE(alive(other));
    EXPECT_TRUE(client.hung_up());
    EXPECT_EQ(broker.metrics.request_bytes.value(), 0);
}

TEST(Connection, claims_that_stall_hold_up_nobody_for_long) {
    TestBroker broker;
    broker.catalog.add("events", 1);
    std::vector<TestClient> hostile;
    for (int i = 0; i < 200; ++i) {
        hostile.push_back(broker.connect());
        hostile.back().send_bytes(bytes_of({0x06, 0x40, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1}));
    }
    broker.sim.loop.run_for(1s);
    TestClient small = broker.connect();
    TestClient large = broker.connect();
    const MonoTime begin = broker.sim.executor.now();
    EXPECT_TRUE(alive(small));
    EXPECT_LT(broker.sim.executor.now() - begin, 1s);
    // Behind the 72 that wait, as far as these have not been hung up on.
    large.call<ProduceResponse>(produce_request(std::string(900'000, 'x')), 9);
    EXPECT_LT(broker.sim.executor.now() - begin, 5s);
    EXPECT_TRUE(hostile.front().hung_up());
}

TEST(Connection, requests_that_drip_are_ended_only_while_others_wait) {
    ServerOptions options;
    options.shard.request_bytes = 17 << 19;  // four first steps
    TestBroker broker(options);
    broker.catalog.add("events", 1);
    const auto drip = [&](TestClient& client) {
        broker.sim.loop.run_for(1s);
        return client.send_bytes(bytes_of({0, 0, 0, 0}));
    };
    std::vector<TestClient> slow;
    for (int i = 0; i < 4; ++i) {
        slow.push_back(broker.connect());
        slow.back().send_bytes(bytes_of({0x06, 0x40, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1}));
    }
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(drip(slow.front()));
    }
    EXPECT_EQ(broker.server.connections(), 4);
    TestClient large = broker.connect();
    const MonoTime begin = broker.sim.executor.now();
    const std::int32_t id = large.send(produce_request(std::string(900'000, 'x')), 9);
    for (int i = 0; i < 6; ++i) {
        drip(slow.front());
    }
    large.receive<ProduceResponse>(id, 9);
    EXPECT_LT(broker.sim.executor.now() - begin, 7s);
    EXPECT_TRUE(slow.front().hung_up());
}

TEST(Connection, request_memory_is_waited_for) {
    ServerOptions options;
    options.shard.request_bytes = 100'000;
    TestBroker broker(options);
    broker.catalog.add("events", 1);
    broker.engine.hold_appends = true;
    TestClient first = broker.connect();
    TestClient second = broker.connect();
    const std::int32_t a = first.send(produce_request(std::string(60'000, 'a')), 9);
    broker.sim.loop.run_for(1s);
    const std::int32_t b = second.send(produce_request(std::string(60'000, 'b')), 9);
    broker.sim.loop.run_for(1s);
    EXPECT_EQ(broker.engine.held(), 1);
    EXPECT_EQ(broker.metrics.requests_waited.value(), 1);
    broker.engine.release();
    first.receive<ProduceResponse>(a, 9);
    broker.sim.loop.run_for(1s);
    EXPECT_EQ(broker.engine.held(), 1);
    broker.engine.release();
    second.receive<ProduceResponse>(b, 9);
}

TEST(Connection, requests_in_flight_are_bounded) {
    ServerOptions options;
    options.connection.requests_in_flight_max = 3;
    TestBroker broker(options);
    broker.catalog.add("events", 1);
    broker.engine.hold_appends = true;
    TestClient client = broker.connect();
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 7; ++i) {
        ids.push_back(client.send(produce_request("x"), 9));
    }
    for (int round = 0; round < 3; ++round) {
        broker.sim.loop.run_for(1s);
        EXPECT_LE(broker.engine.held(), 3);
        broker.engine.release();
    }
    for (const std::int32_t id : ids) {
        client.receive<ProduceResponse>(id, 9);
    }
}

TEST(Connection, a_client_that_does_not_read_is_bounded_and_cut_off) {
    ServerOptions options;
    options.connection.bytes_in_flight_max = 4 << 20;
    options.connection.stall_max = 10s;
    options.shard.response_bytes = 8 << 20;
    TestBroker broker(options);
    broker.catalog.add("events", 1);
    TestClient producer = broker.connect();
    for (int i = 0; i < 8; ++i) {
        producer.call<ProduceResponse>(produce_request(std::string(1'000'000, 'x')), 9);
    }
    TestClient slow = broker.connect();
    for (int i = 0; i < 50; ++i) {
        slow.send(fetch_request(0), 11);
    }
    const std::uint64_t sent = broker.metrics.bytes_out.value();
    broker.sim.loop.run_for(5s);
    // Others are served while it stalls, and its responses stay within the limits.
    EXPECT_TRUE(alive(producer));
    broker.sim.loop.run_for(60s);
    EXPECT_LT(broker.metrics.bytes_out.value() - sent, 16 << 20);
    EXPECT_EQ(broker.server.connections(), 1);
    EXPECT_TRUE(alive(producer));
}

TEST(Connection, many_that_do_not_read_are_bounded_together_and_make_room_for_one_that_does) {
    ServerOptions options;
    options.shard.response_bytes = 4 << 20;
    options.connection.stall_max = 10min;
    TestBroker broker(options);
    broker.catalog.add("events", 1);
    TestClient reader = broker.connect();
    for (int i = 0; i < 8; ++i) {
        reader.call<ProduceResponse>(produce_request(std::string(1'000'000, 'x')), 9);
    }
    std::vector<TestClient> slow;
    for (int i = 0; i < 20; ++i) {
        slow.push_back(broker.connect());
        for (int n = 0; n < 20; ++n) {
            slow.back().send(fetch_request(0), 11);
        }
    }
    std::int64_t highest = 0;
    for (int i = 0; i < 100; ++i) {
        broker.sim.loop.run_for(10ms);
        highest = std::max(highest, broker.metrics.response_bytes.value());
    }
    EXPECT_GT(highest, 8 << 20);
    const MonoTime asked = broker.sim.loop.now();
    std::size_t read = 0;
    while (read == 0 && broker.sim.loop.now() - asked < 1min) {
        // It waits for memory, and asks again when there was none in time.
        const auto answer = reader.call<FetchResponse>(fetch_request(0), 11);
        read = answer.responses.at(0).partitions.at(0).records->size();
        highest = std::max(highest, broker.metrics.response_bytes.value());
    }
    EXPECT_GT(read, 900'000U);
    EXPECT_LT(broker.sim.loop.now() - asked, 20s);
    EXPECT_LT(highest, 10 << 20);
    EXPECT_LT(broker.server.connections(), 21);
}

TEST(Connection, answers_without_records_count_as_well) {
    ServerOptions options;
    options.shard.response_bytes = 2 << 20;
    options.shard.fetch_bytes_floor = 300'000;
    TestBroker broker(options);
    broker.catalog.add("events", 1);
    TestClient client = broker.connect();
    for (int i = 0; i < 8; ++i) {
        client.call<ProduceResponse>(produce_request(std::string(100'000, 'x')), 9);
    }
    const auto fetched = [&] {
        return client.call<FetchResponse>(fetch_request(0), 11)
            .responses.at(0)
            .partitions.at(0)
            .records->size();
    };
    EXPECT_GT(fetched(), 800'000);
    TestClient slow = broker.connect();
    FetchRequest request = fetch_request(0);
    const auto wanted = request.topics.at(0).partitions.at(0);
    request.topics.at(0).topic = "unknown";
    request.topics.at(0).partitions.clear();
    for (std::int32_t i = 0; i < 60'000; ++i) {
        auto& partition = request.topics.at(0).partitions.emplace_back(wanted);
        partition.partition = i;
    }
    slow.send(request, 11);
    broker.sim.loop.run_for(2s);
    EXPECT_LE(fetched(), 300'000) << "the errors of the slow client fill the memory";
}

TEST(Connection, a_slow_reader_gets_everything_in_order) {
    TestBroker broker;
    broker.catalog.add("events", 1);
    TestClient client = broker.connect();
    client.call<ProduceResponse>(produce_request(std::string(200'000, 'x')), 9);
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 6; ++i) {
        ids.push_back(client.send(fetch_request(0), 11));
    }
    for (const std::int32_t id : ids) {
        broker.sim.loop.run_for(1s);
        const auto response = client.receive<FetchResponse>(id, 11);
        EXPECT_GT(response.responses.at(0).partitions.at(0).records->size(), 200'000);
    }
}

TEST(Connection, idle_ones_are_closed_and_waiting_ones_are_not) {
    ServerOptions options;
    options.connection.idle_max = 10s;
    TestBroker broker(options);
    broker.catalog.add("events", 1);
    TestClient idle = broker.connect();
    TestClient waiting = broker.connect();
    EXPECT_TRUE(alive(idle));
    const std::int32_t id = waiting.send(fetch_request(60'000), 11);
    broker.sim.loop.run_for(30s);
    EXPECT_EQ(broker.server.connections(), 1);
    EXPECT_TRUE(idle.hung_up());
    waiting.receive<FetchResponse>(id, 11);
}

TEST(Connection, there_are_only_so_many) {
    ServerOptions options;
    options.connections_max = 2;
    TestBroker broker(options);
    TestClient first = broker.connect();
    {
        TestClient second = broker.connect();
        EXPECT_TRUE(alive(first));
        EXPECT_TRUE(alive(second));
        TestClient third = broker.connect();
        EXPECT_TRUE(third.hung_up());
        EXPECT_EQ(broker.metrics.connections_refused.value(), 1);
        second.stream().close();
    }
    broker.sim.loop.run_for(1s);
    TestClient fourth = broker.connect();
    EXPECT_TRUE(alive(fourth));
}

TEST(Connection, a_client_that_leaves_takes_its_requests_with_it) {
    TestBroker broker;
    broker.catalog.add("events", 1);
    broker.engine.hold_appends = true;
    {
        TestClient client = broker.connect();
        client.send(produce_request("a"), 9);
        broker.sim.loop.run_for(1s);
        client.stream().close();
    }
    broker.sim.loop.run_for(1s);
    broker.engine.release();
    broker.sim.loop.run_for(1s);
    EXPECT_EQ(broker.server.connections(), 0);
    EXPECT_EQ(broker.metrics.request_bytes.value(), 0);
}

TEST(Connection, stopping_answers_what_has_arrived_and_ends_long_polls) {
    TestBroker broker;
    broker.catalog.add("events", 1);
    broker.engine.hold_appends = true;
    TestClient producer = broker.connect();
    TestClient consumer = broker.connect();
    TestClient idle = broker.connect();
    const std::int32_t produce = producer.send(produce_request("a"), 9);
    const std::int32_t fetch = consumer.send(fetch_request(3'600'000), 11);
    broker.sim.loop.run_for(1s);
    broker.sim.executor.call_at(broker.sim.executor.now() + 2s, [&] { broker.engine.release(); });
    const MonoTime before = broker.sim.executor.now();
    broker.stop();
    EXPECT_LT(broker.sim.executor.now() - before, 4s);
    producer.receive<ProduceResponse>(produce, 9);
    consumer.receive<FetchResponse>(fetch, 11);
    EXPECT_TRUE(producer.hung_up());
    EXPECT_TRUE(idle.hung_up());
}

TEST(Connection, stopping_hangs_up_on_who_does_not_take_answers) {
    TestBroker broker;
    broker.catalog.add("events", 1);
    TestClient client = broker.connect();
    for (int i = 0; i < 3; ++i) {
        client.call<ProduceResponse>(produce_request(std::string(1'000'000, 'x')), 9);
    }
    client.send(fetch_request(0), 11);
    broker.sim.loop.run_for(1s);
    const MonoTime before = broker.sim.executor.now();
    broker.stop(3s);
    EXPECT_LT(broker.sim.executor.now() - before, 5s);
    EXPECT_EQ(broker.server.connections(), 0);
}

TEST(Connection, the_same_seed_gives_the_same_run) {
    const auto run = [](std::uint64_t seed) {
        TestBroker broker({}, seed);
        broker.catalog.add("events", 1);
        TestClient client = broker.connect();
        for (int i = 0; i < 5; ++i) {
            client.call<ProduceResponse>(produce_request("x"), 9);
            client.call<FetchResponse>(fetch_request(10), 11);
        }
        broker.stop();
        return broker.sim.loop.trace();
    };
    EXPECT_EQ(run(1), run(1));
    EXPECT_NE(run(1), run(2));
}

TEST(Connection, errors_are_counted_by_api_and_code) {
    TestBroker broker;
    TestClient client = broker.connect();
    client.call<ProduceResponse>(produce_request("x", "none"), 9);
    std::vector<metrics::Sample> counted;
    for (const metrics::Entry& entry : broker.registry.entries()) {
        if (entry.name == "lakestream_kafka_errors_total") {
            counted = (*entry.collect)();
        }
    }
    ASSERT_EQ(counted.size(), 1U);
    EXPECT_EQ(
        counted[0].labels,
        (metrics::Labels{{"api", "Produce"}, {"error", "UNKNOWN_TOPIC_OR_PARTITION"}})
    );
    EXPECT_EQ(counted[0].value, 1);
}

}  // namespace
}  // namespace lakestream::kafka
