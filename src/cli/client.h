// SPDX-License-Identifier: Apache-2.0
// A small Kafka client: one broker, requests pipelined on one connection.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/slices.h"
#include "codec/kafka/gen/api_keys.h"
#include "codec/kafka/gen/errors.h"
#include "codec/reader.h"
#include "codec/writer.h"
#include "lakestream/bytes.h"
#include "net/net.h"
#include "rt/scope.h"

namespace lakestream::cli {

/// A connection. Lives on one executor; `close` before it is dropped. Requests go out in the order
/// of the calls and answers come back in that order. The first failure of the connection fails all
/// calls, with its error.
class Broker {
  public:
    /// Connect and ask which versions the broker speaks. Errors: of Network::connect, and
    /// `unsupported` (not a Kafka broker that we can talk to).
    static rt::Task<Result<std::unique_ptr<Broker>>> connect(
        net::Network& network, net::Address address, Deadline deadline
    );

    explicit Broker(rt::Executor& executor, std::unique_ptr<net::Stream> stream);
    Broker(const Broker&) = delete;
    Broker& operator=(const Broker&) = delete;

    rt::Task<void> close();
    /// Fail all calls, now and later, with `cancelled`.
    void abort() { fail(cancelled("interrupted")); }

    rt::Executor& executor() const { return scope_.executor(); }
    MonoTime now() const { return scope_.executor().now(); }
    WallTime wall_now() const { return scope_.executor().clock().wall_now(); }

    /// The newest version of a request that both sides know, at most `at_most`. Errors:
    /// `unsupported`.
    Result<std::int16_t> version(codec::kafka::ApiKey api, std::int16_t at_most) const;

    /// The newest version of each API that the broker serves, by key; -1: none.
    std::span<const std::int16_t> versions() const { return version_max_; }

    /// One request and its answer. **The call orders**: requests are sent in the order of the
    /// calls of `send`.
    template <class Response, class Request>
    rt::Task<Result<Response>> call(Request request, std::int16_t at_most = 0x7fff) {
        const std::int16_t used = LKS_CO_TRY(version(Request::api_key, at_most));
        codec::Writer body;
        LKS_CO_TRY(request.encode(body, used));
        co_return decode<Response>(
            co_await send(Request::api_key, used, body.finish()), Request::api_key, used
        );
    }

    /// Enqueue an encoded request; the future has the whole response frame.
    rt::Future<Result<Bytes>> send(codec::kafka::ApiKey api, std::int16_t version, Slices body);

    template <class Response>
    static Result<Response> decode(
        Result<Bytes> frame, codec::kafka::ApiKey api, std::int16_t version
    ) {
        codec::Reader reader(LKS_TRY(std::move(frame)));
        LKS_TRY(skip_header(reader, api, version));
        return Response::decode(reader, version);
    }

  private:
    static Status skip_header(
        codec::Reader& reader, codec::kafka::ApiKey api, std::int16_t version
    );

    rt::Task<Status> learn_versions();
    rt::Task<void> write_requests();
    rt::Task<void> read_responses();
    rt::Task<Result<Bytes>> read_frame();
    void fail(Error error);

    std::unique_ptr<net::Stream> stream_;
    std::array<std::int16_t, 128> version_max_{};  // by API key; -1: not served
    std::int32_t next_correlation_ = 0;
    std::deque<Slices> outbox_;
    std::deque<rt::Promise<Result<Bytes>>> waiting_;  // in the order sent
    std::optional<Error> failed_;
    rt::Signal changed_;
    rt::TaskScope scope_;
};

/// An error code of a response as an Error that names `what`, with what the broker says about it;
/// ok for none.
Status check_code(
    codec::kafka::ErrorCode code,
    std::string_view what,
    const std::optional<std::string>& message = std::nullopt
);

}  // namespace lakestream::cli
