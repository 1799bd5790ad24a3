// SPDX-License-Identifier: Apache-2.0
// Server: HTTP/1.1 for operators: metrics, health, and later administration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/result.h"
#include "base/time.h"
#include "net/net.h"
#include "rt/scope.h"
#include "rt/semaphore.h"

namespace lakestream::http {

struct Request {
    std::string method;  // GET or HEAD
    std::string path;    // without the query, not decoded
    std::string query;   // behind the question mark
};

struct Response {
    int status = 200;
    std::string content_type = "application/json";
    std::string body;
};

/// Answers the requests of one path. Owned by the server; runs on its executor, possibly several
/// times at once.
class Handler {
  public:
    virtual ~Handler() = default;
    virtual rt::Task<Response> handle(Request request) = 0;
};

struct ServerOptions {
    std::size_t connections_max = 64;  // beyond: the least used one is closed
    std::uint32_t header_bytes_max = 16 << 10;
    std::uint64_t body_bytes_max = 1 << 20;
    Duration idle = 60s;      // between requests
    Duration receive = 10s;   // from a request's first byte to its last
    Duration transmit = 30s;  // of a response
};

/// `{"error":"…"}`
Response error_response(int status, std::string_view message);

/// Owned by the node; everything on one executor. A connection holds at most one request and one
/// response.
class Server {
  public:
    explicit Server(rt::Executor& executor, ServerOptions options = {});
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server();

    /// GET and HEAD of exactly this path. Before `start`.
    void route(std::string path, std::unique_ptr<Handler> handler);
    void start(std::unique_ptr<net::Listener> listener);
    /// Accept no more, finish what was asked, hang up after a second or at `deadline`, whichever
    /// comes first: nobody who does not read his answer holds up the node.
    rt::Task<void> stop(Deadline deadline);
    /// Drop everything where it stands: only for a node that is cut off (TaskScope::abandon).
    void abandon() noexcept;

    /// Connections closed to make room for others, so far.
    const metrics::Counter& evictions() const noexcept { return evictions_; }
    const metrics::Gauge& connections() const noexcept { return connections_; }

  private:
    struct Connection;

    rt::Task<void> accept();
    void make_room();
    static void hang_up(Connection& connection);
    rt::Task<void> serve(std::unique_ptr<Connection> connection);
    rt::Task<void> hear_out(net::Stream& stream);
    rt::Task<Status> exchange(Connection& connection);
    rt::Task<Result<bool>> receive(Connection& connection);
    rt::Task<Status> transmit(Connection& connection, Response response, bool body);
    rt::Task<Response> answer(Request request);

    rt::Executor& executor_;
    const ServerOptions options_;
    std::map<std::string, std::unique_ptr<Handler>, std::less<>> routes_;
    std::unique_ptr<net::Listener> listener_;
    std::vector<Connection*> open_;  // in the order of accepting; their tasks own them
    rt::Semaphore slots_;            // one for each connection's task
    metrics::Counter evictions_;
    metrics::Gauge connections_;
    rt::TaskScope scope_;
};

}  // namespace lakestream::http
