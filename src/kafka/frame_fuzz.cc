// SPDX-License-Identifier: Apache-2.0
// Any bytes on a connection: the server answers or hangs up, goes on serving others, and holds no
// memory afterwards.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/log.h"
#include "codec/kafka/gen/api_versions.h"
#include "kafka/dispatch.h"
#include "kafka/testing/broker.h"

namespace lakestream::kafka {
namespace {

void quiet(log::Level, std::string_view, std::string_view) noexcept {}

/// Bytes as they are, or, behind a first byte below the number of APIs, as the body of a request
/// whose frame and header are right: the handlers are reached either way.
void send(testing::TestClient& client, std::span<const std::byte> input) {
    const auto apis = served_apis();
    const std::size_t first = std::to_integer<std::size_t>(input[0]);
    if (first >= apis.size() || input.size() < 2) {
        client.send_bytes(Slices(Bytes::copy(input)));
        return;
    }
    const Api& api = apis[first];
    const auto versions = static_cast<std::size_t>(api.versions.last - api.versions.first) + 1;
    const auto version = static_cast<std::size_t>(api.versions.first) +
                         std::to_integer<std::size_t>(input[1]) % versions;
    client.send_body(api.key, static_cast<int>(version), [&](codec::Writer& writer) {
        writer.raw(input.subspan(2));
    });
}

void run(std::span<const std::byte> input) {
    ServerOptions options;
    options.connection.request_bytes_max = 1 << 20;
    options.connection.stall_max = 1s;
    options.connection.idle_max = 5s;
    options.broker.partitions_max = 1000;
    testing::TestBroker broker(options);
    broker.catalog.add("t", 2);
    {
        testing::TestClient client = broker.connect();
        send(client, input);
        broker.sim.loop.run_for(10s);
        client.stream().close();
    }
    testing::TestClient other = broker.connect();
    const auto hello =
        other.call<codec::kafka::ApiVersionsResponse>(codec::kafka::ApiVersionsRequest{}, 0);
    LKS_ASSERT(hello.error_code == KafkaError::none);
    broker.stop();
    LKS_ASSERT(broker.server.connections() == 0);
    LKS_ASSERT(broker.metrics.request_bytes.value() == 0);
}

}  // namespace
}  // namespace lakestream::kafka

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    lakestream::log::set_sink(lakestream::kafka::quiet, lakestream::log::Level::error);
    if (size > 0) {
        lakestream::kafka::run(std::as_bytes(std::span(data, size)));
    }
    return 0;
}
