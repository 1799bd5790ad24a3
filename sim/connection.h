// SPDX-License-Identifier: Apache-2.0
// Connection: a client's connection to a node, with deadlines; Connections: one for each node.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codec/kafka/gen/api_keys.h"
#include "codec/kafka/gen/errors.h"
#include "codec/kafka/version_range.h"
#include "codec/reader.h"
#include "codec/writer.h"
#include "kafka/dispatch.h"
#include "net/net.h"
#include "rt/scope.h"
#include "rt/signal.h"
#include "sim/world.h"

namespace lakestream::sim {

namespace kafka_api = codec::kafka;

/// Requests go out in the order of the calls and answers come back in that order. An answer that
/// does not come in time ends the connection, as in every Kafka client. Never destroyed before the
/// world ends.
class Connection {
  public:
    Connection(rt::Executor& executor, std::unique_ptr<net::Stream> stream, std::uint64_t life);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    bool failed() const { return failed_.has_value(); }
    /// Which process is at the other end.
    std::uint64_t life() const { return life_; }
    void close() { fail(cancelled("closed by the client")); }

    /// **The call orders**: an encoded request; the future has the whole response frame.
    rt::Future<Result<Bytes>> send(
        kafka_api::ApiKey api, std::int16_t version, Slices body, Deadline deadline
    );
    /// A request that is not answered.
    void send_unanswered(kafka_api::ApiKey api, std::int16_t version, Slices body);

    /// A request in this version, and its answer.
    template <class Response, class Request>
    rt::Task<Result<Response>> call(Request request, std::int16_t version, Deadline deadline) {
        codec::Writer body;
        LKS_CO_TRY(request.encode(body, version));
        co_return decode<Response>(
            co_await send(Request::api_key, version, body.finish(), deadline),
            Request::api_key,
            version
        );
    }

    template <class Response>
    static Result<Response> decode(
        Result<Bytes> frame, kafka_api::ApiKey api, std::int16_t version
    ) {
        codec::Reader reader(LKS_TRY(std::move(frame)));
        LKS_TRY(skip_header(reader, api, version));
        return Response::decode(reader, version);
    }

  private:
    struct Waiting {
        rt::Promise<Result<Bytes>> promise;
        Deadline deadline;
    };

    static Status skip_header(codec::Reader& reader, kafka_api::ApiKey api, std::int16_t version);
    void enqueue(kafka_api::ApiKey api, std::int16_t version, const Slices& body);
    void check_patience();
    rt::Task<void> write_requests();
    rt::Task<void> read_responses();
    rt::Task<Result<Bytes>> read_frame();
    void fail(Error error);

    std::unique_ptr<net::Stream> stream_;
    const std::uint64_t life_;
    std::uint64_t sent_ = 0;
    std::deque<Slices> outbox_;
    std::deque<Waiting> waiting_;
    std::optional<Error> failed_;
    rt::Signal changed_;
    rt::TaskScope scope_;
};

/// A served version of an API, not below or above.
template <class Request>
std::int16_t draw_version(rt::Rng& rng, std::int16_t low = 0, std::int16_t high = 0x7fff) {
    const auto* api = kafka::find_served(static_cast<std::int16_t>(Request::api_key));
    low = std::max(low, static_cast<std::int16_t>(api->versions.first));
    high = std::min(high, static_cast<std::int16_t>(api->versions.last));
    return static_cast<std::int16_t>(
        rng.between(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high))
    );
}

/// One client's connections. Runs on the client's executor.
class Connections {
  public:
    Connections(World& world, rt::SimExecutor& executor, std::string client);

    rt::SimExecutor& executor() const { return executor_; }
    /// An open connection to this host.
    rt::Task<Result<Connection*>> get(Host& host);
    /// The same, to any host.
    rt::Task<Result<Connection*>> any() {
        co_return co_await get(world_.random_host(executor_.rng()));
    }
    void close_all();

  private:
    World& world_;
    rt::SimExecutor& executor_;
    net::SimNetwork network_;
    std::map<const Host*, Connection*> open_;
    std::vector<std::unique_ptr<Connection>> all_;
};

}  // namespace lakestream::sim
