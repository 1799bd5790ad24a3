// SPDX-License-Identifier: Apache-2.0
// What every handler is made of: typed requests in, encoded frames out.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/log.h"
#include "codec/kafka/fields.h"
#include "codec/kafka/gen/headers.h"
#include "codec/kafka/request_header.h"
#include "codec/reader.h"
#include "codec/writer.h"
#include "kafka/dispatch.h"
#include "kafka/error_map.h"

namespace lakestream::kafka {

/// A handler is a struct with
///
///     using Request, Response;                       // generated messages
///     static constexpr VersionRange versions;        // served
///     static std::uint64_t memory(frame_bytes);      // to admit before the frame is read
///     static rt::Task<Response> handle(Call, Request);
///
/// and, where the response has an error of its own, `static Response refused(KafkaError)`. One that
/// must submit in the order of requests has `begin(Call, Request) -> Task<Begun<Response>>` in
/// place of `handle`; one whose response may be large takes a `ResponseMemory::Grant&` as well, or
/// begins with one, which is settled on the frame in the end.
template <class Response>
struct Begun {
    rt::Task<Response> rest;
    Answered answered = Answered::yes;
    /// None, or what `rest` counts in.
    std::unique_ptr<ResponseMemory::Grant> grant{};
};

namespace internal {

template <class T, class Visitor>
void each_error(const T& value, Visitor&& visitor) {
    if constexpr (std::same_as<T, KafkaError>) {
        if (value != KafkaError::none) {
            visitor(value);
        }
    } else if constexpr (codec::kafka::HasFields<T>) {
        codec::kafka::FieldsOf<T>::visit([&](const codec::kafka::FieldInfo&, auto member) {
            each_error(value.*member, visitor);
        });
    } else if constexpr (requires {
                             typename T::value_type;
                             value.begin();
                         }) {
        if constexpr (codec::kafka::HasFields<typename T::value_type>) {
            for (const auto& element : value) {
                each_error(element, visitor);
            }
        }
    }
}

}  // namespace internal

/// Calls `visitor(code)` for every error in a response.
template <codec::kafka::HasFields Response, class Visitor>
void each_error(const Response& response, Visitor&& visitor) {
    internal::each_error(response, visitor);
}

inline Reply close_connection() {
    return Reply{.frame = {}, .held = {}, .then = Reply::Then::close};
}

inline rt::Task<Reply> reply_now(Reply reply) {
    co_return std::move(reply);
}

/// The frame of a response in the version of the request, or in another one.
template <class Response>
Reply encode_reply(const Call& call, const Response& response, std::int16_t version) {
    const auto& api = *codec::kafka::find_api(static_cast<std::int16_t>(call.api));
    codec::Writer writer;
    const auto size = writer.open_int32();
    const codec::kafka::ResponseHeader header{.correlation_id = call.correlation_id};
    Status status = header.encode(writer, codec::kafka::response_header_version(api, call.version));
    if (status.ok()) {
        status = response.encode(writer, version);
    }
    if (!status.ok()) {
        log::error("kafka", "response_not_encoded api={} error={}", api.name, status.error());
        return close_connection();
    }
    writer.patch(size, static_cast<std::int32_t>(writer.bytes_since(size)));
    each_error(response, [&](KafkaError error) {
        call.shard.backend.metrics.count_error(call.api, error);
    });
    return Reply{.frame = writer.finish(), .held = {}};
}

template <class Handler>
rt::Task<Reply> serve(Call call, typename Handler::Request request) {
    if constexpr (requires(ResponseMemory::Grant& grant) {
                      Handler::handle(call, std::move(request), grant);
                  }) {
        ResponseMemory::Grant grant = call.shard.response_memory.take(0);
        const auto response = co_await Handler::handle(call, std::move(request), grant);
        Reply reply = encode_reply(call, response, call.version);
        grant.settle(reply.frame.size());
        reply.held = std::move(grant);
        co_return std::move(reply);
    } else {
        const auto response = co_await Handler::handle(call, std::move(request));
        co_return encode_reply(call, response, call.version);
    }
}

template <class Response>
rt::Task<Reply> serve_rest(Call call, Begun<Response> begun) {
    const Response response = co_await std::move(begun.rest);
    Reply reply = encode_reply(call, response, call.version);
    if (begun.grant != nullptr) {
        begun.grant->settle(reply.frame.size());
        reply.held = std::move(*begun.grant);
    }
    if (begun.answered == Answered::no) {
        // The only way to tell such a client about an error is to hang up.
        reply.frame = {};
        each_error(response, [&](KafkaError) { reply.then = Reply::Then::close; });
    }
    co_return std::move(reply);
}

/// A request whose body cannot be read: an error if the response has a place for one, else the end.
template <class Handler>
Reply refuse_malformed(const Call& call, const Error& error) {
    const auto& api = *codec::kafka::find_api(static_cast<std::int16_t>(call.api));
    log::warn(
        "kafka",
        "malformed_request peer={} api={} version={} error={}",
        call.peer.address.to_string(),
        api.name,
        call.version,
        error
    );
    call.shard.backend.metrics.requests_refused.add();
    if constexpr (requires { Handler::refused(KafkaError::invalid_request, call.version); }) {
        if (auto response = Handler::refused(KafkaError::invalid_request, call.version)) {
            return encode_reply(call, *response, call.version);
        }
    }
    return close_connection();
}

/// Api::start of a handler.
template <class Handler>
rt::Task<Started> start(Call call, Bytes frame) {
    codec::Reader reader(std::move(frame));
    auto header = codec::kafka::decode_request_header(reader);
    if (!header.ok()) {
        co_return Started{.rest = reply_now(refuse_malformed<Handler>(call, header.error()))};
    }
    call.peer.client_id = std::move(header->client_id).value_or(std::string());
    auto request = Handler::Request::decode(reader, call.version);
    if (!request.ok()) {
        co_return Started{.rest = reply_now(refuse_malformed<Handler>(call, request.error()))};
    }
    if constexpr (requires { Handler::begin(call, std::move(*request)); }) {
        auto begun = co_await Handler::begin(call, std::move(*request));
        const Answered answered = begun.answered;
        co_return Started{.rest = serve_rest(call, std::move(begun)), .answered = answered};
    } else {
        co_return Started{.rest = serve<Handler>(call, std::move(*request))};
    }
}

}  // namespace lakestream::kafka
