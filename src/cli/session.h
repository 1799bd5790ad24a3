// SPDX-License-Identifier: Apache-2.0
// Session: what a command that talks to a broker runs on.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cli/client.h"
#include "net/epoll/network.h"
#include "rt/epoll/threads.h"
#include "server/blocking.h"

namespace lakestream::cli {

/// How long a command tries to reach its broker, and waits for one answer of an administrator's
/// request.
inline constexpr Duration patience = 30s;

/// One loop, one thread for names, the network.
class Session {
  public:
    Session() : loops_(clock_, 1), resolver_("resolver", 1, rt::ThreadPriority::normal) {}

    rt::Executor& executor() { return loops_[0]; }
    net::Network& network() { return network_; }

    template <class T>
    T run(rt::Task<T> task) {
        LKS_TRY(loops_.started());
        LKS_TRY(resolver_.started());
        return server::run_blocking(executor(), std::move(task));
    }

  private:
    rt::SystemClock clock_;
    rt::LoopThreads loops_;
    rt::ThreadPool resolver_;
    net::EpollNetwork network_{resolver_};
};

/// Connect to the broker of `bootstrap`, run `body(broker)`, close.
template <class Body>
rt::Task<Status> with_broker(net::Network& network, std::string bootstrap, Body body) {
    net::Address address = LKS_CO_TRY(net::Address::parse(bootstrap));
    const Deadline deadline = (co_await rt::this_executor()).now() + patience;
    auto connected = co_await Broker::connect(network, std::move(address), deadline);
    if (!connected.ok()) {
        co_return std::move(connected).error().with_context(bootstrap);
    }
    Status done = co_await body(**connected);
    co_await (*connected)->close();
    co_return done;
}

/// Connect, run `command(broker, arguments...)`, close.
template <class... Parameters, class... Arguments>
Status on_broker(
    const std::string& bootstrap,
    rt::Task<Status> (*command)(Broker&, Parameters...),
    const Arguments&... arguments
) {
    Session session;
    return session.run(with_broker(
        session.network(),
        bootstrap,
        [&] [[clang::coro_wrapper]] (Broker & broker) { return command(broker, arguments...); }
    ));
}

}  // namespace lakestream::cli
