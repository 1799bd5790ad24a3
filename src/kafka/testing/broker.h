// SPDX-License-Identifier: Apache-2.0
// TestBroker and TestClient: a Kafka server on fakes, and real frames to and from it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "codec/batch_builder.h"
#include "codec/kafka/gen/headers.h"
#include "codec/reader.h"
#include "codec/writer.h"
#include "kafka/server.h"
#include "kafka/testing/fake_catalog.h"
#include "kafka/testing/fake_engine.h"
#include "meta/memory_store.h"
#include "net/sim/network.h"
#include "rt/sim/testing.h"

namespace lakestream::kafka::testing {

/// One connection to the broker, as a client library would use it. Calls run the simulated world
/// until they end; a failed assertion means that the answer never came.
class TestClient {
  public:
    TestClient(rt::SimTest& sim, std::unique_ptr<net::Stream> stream)
        : sim_(sim), stream_(std::move(stream)) {}

    /// Whether all bytes have left.
    bool send_bytes(Slices bytes) {
        return sim_.run(stream_->write(std::move(bytes), no_deadline)).ok();
    }

    template <class Request>
    std::int32_t send(const Request& request, int version) {
        return send_body(Request::api_key, version, [&](codec::Writer& writer) {
            LKS_ASSERT(request.encode(writer, version).ok());
        });
    }

    /// A request whose header is right; gives its correlation id.
    template <class WriteBody>
    std::int32_t send_body(codec::kafka::ApiKey key, int version, WriteBody&& write_body) {
        const codec::kafka::RequestHeader header{
            .request_api_key = static_cast<std::int16_t>(key),
            .request_api_version = static_cast<std::int16_t>(version),
            .correlation_id = ++last_id_,
            .client_id = "test",
        };
        const auto& api = *codec::kafka::find_api(header.request_api_key);
        codec::Writer writer;
        const auto size = writer.open_int32();
        LKS_ASSERT(header
                       .encode(
                           writer,
                           codec::kafka::request_header_version(api, header.request_api_version)
                       )
                       .ok());
        write_body(writer);
        writer.patch(size, static_cast<std::int32_t>(writer.bytes_since(size)));
        LKS_ASSERT(send_bytes(writer.finish()));
        return last_id_;
    }

    /// The next frame without its size; empty when the broker hangs up (or nothing comes for
    /// `patience`).
    Bytes receive_frame(Duration patience = std::chrono::hours(1)) {
        std::vector<std::byte> head(4);
        if (!read(head, patience)) {
            return {};
        }
        std::vector<std::byte> frame(static_cast<std::size_t>(load_be<std::int32_t>(head.data())));
        return read(frame, patience) ? Bytes::own(std::move(frame)) : Bytes();
    }

    /// The next response, which has to be the one to request `id` in `version`.
    template <class Response>
    Response receive(std::int32_t id, int version) {
        const Bytes frame = receive_frame();
        LKS_ASSERT(!frame.empty());
        codec::Reader reader(frame);
        const auto& api = *codec::kafka::find_api(static_cast<std::int16_t>(Response::api_key));
        const auto header = codec::kafka::ResponseHeader::decode(
            reader, codec::kafka::response_header_version(api, static_cast<std::int16_t>(version))
        );
        LKS_ASSERT(header.ok() && header->correlation_id == id);
        auto response = Response::decode(reader, version);
        LKS_ASSERT(response.ok() && reader.remaining() == 0);
        return std::move(*response);
    }

    template <class Response, class Request>
    Response call(const Request& request, int version) {
        return receive<Response>(send(request, version), version);
    }

    bool hung_up() { return receive_frame().empty(); }
    net::Stream& stream() { return *stream_; }

  private:
    bool read(std::span<std::byte> into, Duration patience) {
        while (!into.empty()) {
            const auto count = sim_.run(stream_->read_some(into, sim_.executor.now() + patience));
            if (!count.ok() || *count == 0) {
                return false;
            }
            into = into.subspan(*count);
        }
        return true;
    }

    rt::SimTest& sim_;
    std::unique_ptr<net::Stream> stream_;
    std::int32_t last_id_ = 0;
};

/// Everything in one simulated world, on one executor.
class TestBroker {
  public:
    explicit TestBroker(
        const ServerOptions& options = {},
        std::uint64_t seed = 1,
        std::span<const BrokerConfig> settings = {}  // outlive the broker
    )
        : sim(seed),
          cluster{
              .id = "test-cluster",
              .self = 3,
              .brokers = {{.id = 3, .address = {.host = "broker", .port = 9092}, .rack = "r1"}},
              .leader_epoch = 7,
          },
          wires(sim.loop, seed),
          broker_network(wires, "broker"),
          client_network(wires, "client"),
          metrics(registry),
          server(
              sim.executor,
              {&sim.executor},
              Backend{
                  .engine = engine,
                  .offloader = offloader,
                  .catalog = catalog,
                  .metadata = metadata,
                  .cluster = cluster,
                  .metrics = metrics,
                  .settings = settings,
              },
              options
          ) {
        auto listener = broker_network.listen(sim.executor, {.host = "broker", .port = 9092});
        LKS_ASSERT(listener.ok());
        server.start(std::move(*listener), "plain");
    }

    ~TestBroker() { stop(); }

    void stop(Duration patience = std::chrono::seconds(10)) {
        if (!std::exchange(stopped_, true)) {
            sim.run(server.stop(sim.executor.now() + patience));
        }
    }

    TestClient connect() {
        auto stream =
            sim.run(client_network.connect({.host = "broker", .port = 9092}, no_deadline));
        LKS_ASSERT(stream.ok());
        return TestClient(sim, std::move(*stream));
    }

    rt::SimTest sim;
    rt::SimOffloader offloader{sim.executor, 1ms};
    FakeEngine engine;
    FakeCatalog catalog;
    meta::MemoryMetadata metadata_service{sim.executor};
    meta::MemoryStore metadata{metadata_service, sim.executor};
    Cluster cluster;
    metrics::Registry registry;
    net::SimWires wires;
    net::SimNetwork broker_network;
    net::SimNetwork client_network;
    Metrics metrics;
    Server server;

  private:
    bool stopped_ = false;
};

/// A record to write: its time and value.
struct TestRecord {
    std::int64_t timestamp = 0;
    std::string value = "value";
};

inline Bytes batch_of(
    const std::vector<TestRecord>& records, const codec::BatchOptions& options = {}
) {
    codec::BatchBuilder builder(options);
    for (const TestRecord& record : records) {
        builder.add(record.timestamp, std::nullopt, std::as_bytes(std::span(record.value)));
    }
    return builder.finish();
}

}  // namespace lakestream::kafka::testing
