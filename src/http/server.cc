// SPDX-License-Identifier: Apache-2.0
// Connections of the HTTP server.
#include "http/server.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "net/beast/http_parser.h"

namespace lakestream::http {

namespace {

constexpr std::size_t read_bytes = 4096;
constexpr Duration linger = 1s;
constexpr Duration farewell = 1s;       // for what was asked before a stop
constexpr std::size_t ending_max = 16;  // closed connections whose tasks have yet to end

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200: return "OK";
        case 400: return "Bad Request";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 413: return "Content Too Large";
        case 431: return "Request Header Fields Too Large";
        case 503: return "Service Unavailable";
        default: return "Status";
    }
}

int status_of(const Error& error) {
    switch (static_cast<net::HttpFault>(error.reason)) {
        case net::HttpFault::header_too_large: return 431;
        case net::HttpFault::body_too_large: return 413;
        case net::HttpFault::malformed:
        case net::HttpFault::none: break;
    }
    return 400;
}

std::string header(const Response& response, bool keep_alive) {
    return fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Connection: {}\r\n\r\n",
        response.status,
        reason_phrase(response.status),
        response.content_type,
        response.body.size(),
        response.status == 405 ? "Allow: GET, HEAD\r\n" : "",
        keep_alive ? "keep-alive" : "close"
    );
}

Request to_request(net::HttpRequest message) {
    const std::size_t mark = message.target.find('?');
    return {
        .method = std::move(message.method),
        .path = message.target.substr(0, mark),
        .query = mark == std::string::npos ? "" : message.target.substr(mark + 1),
    };
}

}  // namespace

struct Server::Connection {
    rt::Semaphore::Units slot;
    std::unique_ptr<net::Stream> stream;
    net::HttpParser parser;
    MonoTime progress;   // when bytes last came or went
    std::string buffer;  // received and not yet understood
    bool idle = true;    // no request has begun
    bool keep_alive = true;
    bool closed = false;  // by us: its task is about to end
};

Response error_response(int status, std::string_view message) {
    const nlohmann::json body{{"error", message}};
    return {
        .status = status,
        .body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
    };
}

Server::Server(rt::Executor& executor, ServerOptions options)
    : executor_(executor),
      options_(options),
      slots_(options.connections_max + ending_max),
      scope_(executor) {}

Server::~Server() = default;

void Server::route(std::string path, std::unique_ptr<Handler> handler) {
    LKS_ASSERT(listener_ == nullptr);
    routes_[std::move(path)] = std::move(handler);
}

void Server::start(std::unique_ptr<net::Listener> listener) {
    LKS_ASSERT(listener_ == nullptr);
    listener_ = std::move(listener);
    scope_.spawn(accept());
}

rt::Task<void> Server::accept() {
    while (true) {
        auto stream = co_await listener_->accept(executor_);
        if (stream.is(ErrorCode::cancelled)) {
            co_return;
        }
        if (!stream.ok()) {
            log::warn("http", "accept_failed error={}", stream.error().to_string());
            continue;
        }
        make_room();
        auto connection = std::make_unique<Connection>(Connection{
            .slot = co_await slots_.acquire(1),  // in a rush until a closed one's task has ended
            .stream = std::move(*stream),
            .parser = net::HttpParser({options_.header_bytes_max, options_.body_bytes_max}),
            .progress = executor_.now(),
        });
        open_.push_back(connection.get());
        scope_.spawn(serve(std::move(connection)));
    }
}

/// Nobody who holds connections without using them keeps a probe out: idle ones go first, then
/// those that have stood still for longest.
void Server::make_room() {
    std::size_t count = 0;
    Connection* victim = nullptr;
    for (Connection* const each : open_) {
        if (each->closed) {
            continue;
        }
        ++count;
        const auto rank = [](const Connection& c) { return std::pair(!c.idle, c.progress); };
        if (victim == nullptr || rank(*each) < rank(*victim)) {
            victim = each;
        }
    }
    if (victim != nullptr && count >= options_.connections_max) {
        evictions_.add();
        hang_up(*victim);
    }
}

void Server::hang_up(Connection& connection) {
    connection.closed = true;
    connection.stream->close();
}

/// Closing on unread bytes resets the connection, and the response would be lost with it.
rt::Task<void> Server::hear_out(net::Stream& stream) {
    const Deadline deadline = executor_.now() + linger;
    std::array<std::byte, read_bytes> unread;  // NOLINT: filled by the read
    while ((co_await stream.read_some(unread, deadline)).value_or(0) > 0 &&
           executor_.now() < deadline) {
    }
}

rt::Task<void> Server::serve(std::unique_ptr<Connection> connection) {
    connections_.add(1);
    Status status;
    while (status.ok() && connection->keep_alive) {
        status = co_await exchange(*connection);
    }
    connections_.add(-1);
    std::erase(open_, connection.get());
}

/// One request and its response.
rt::Task<Status> Server::exchange(Connection& connection) {
    const auto received = co_await receive(connection);
    if (!received.ok() && received.error().reason != 0) {
        connection.keep_alive = false;
        const int status = status_of(received.error());
        LKS_CO_TRY(
            co_await transmit(connection, error_response(status, received.error().message), true)
        );
        co_await hear_out(*connection.stream);
        co_return Status();
    }
    if (!LKS_CO_TRY(received)) {
        connection.keep_alive = false;  // the client has ended
        co_return Status();
    }
    net::HttpRequest message = connection.parser.take();
    connection.keep_alive = message.keep_alive && !scope_.stopping();
    Request request = to_request(std::move(message));
    const bool body = request.method != "HEAD";
    Response response = co_await answer(std::move(request));
    connection.keep_alive = connection.keep_alive && !scope_.stopping();
    LKS_CO_TRY(co_await transmit(connection, std::move(response), body));
    connection.idle = connection.buffer.empty();
    co_return Status();
}

/// Whether a request came, rather than the end.
rt::Task<Result<bool>> Server::receive(Connection& connection) {
    Deadline deadline = executor_.now() + (connection.idle ? options_.idle : options_.receive);
    while (true) {
        if (LKS_CO_TRY(connection.parser.feed(connection.buffer)) ==
            net::HttpParser::Progress::complete) {
            connection.idle = false;
            co_return true;
        }
        std::array<std::byte, read_bytes> into;  // NOLINT: filled by the read
        const std::size_t count = LKS_CO_TRY(co_await connection.stream->read_some(into, deadline));
        if (count == 0) {
            co_return false;
        }
        connection.progress = executor_.now();
        if (connection.idle) {
            connection.idle = false;
            deadline = executor_.now() + options_.receive;
        }
        connection.buffer.append(reinterpret_cast<const char*>(into.data()), count);
    }
}

rt::Task<Status> Server::transmit(Connection& connection, Response response, bool body) {
    Slices data(Bytes::own(header(response, connection.keep_alive)));
    if (body) {
        data.append(Bytes::own(std::move(response.body)));
    }
    LKS_CO_TRY(
        co_await connection.stream->write(std::move(data), executor_.now() + options_.transmit)
    );
    connection.progress = executor_.now();
    co_return Status();
}

rt::Task<Response> Server::answer(Request request) {
    const auto found = routes_.find(request.path);
    if (found == routes_.end()) {
        co_return error_response(404, "nothing is here");
    }
    if (request.method != "GET" && request.method != "HEAD") {
        co_return error_response(405, "only GET and HEAD are served here");
    }
    co_return co_await found->second->handle(std::move(request));
}

rt::Task<void> Server::stop(Deadline deadline) {
    if (listener_ != nullptr) {
        listener_->close();
    }
    scope_.stop().request();
    deadline = std::min(deadline, executor_.now() + farewell);
    while (!open_.empty() && executor_.now() < deadline) {
        for (Connection* const connection : open_) {
            if (connection->idle) {
                hang_up(*connection);
            }
        }
        co_await rt::sleep_until(std::min(deadline, executor_.now() + 5ms));
    }
    for (Connection* const connection : open_) {
        hang_up(*connection);
    }
    co_await scope_.close();
}

void Server::abandon() noexcept {
    scope_.abandon();
}

}  // namespace lakestream::http
