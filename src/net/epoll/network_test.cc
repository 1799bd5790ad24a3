// SPDX-License-Identifier: Apache-2.0
// What only real sockets can do: run out of descriptors, resolve names.
#include "net/epoll/network.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <future>

#include "rt/epoll/threads.h"
#include "rt/scope.h"

namespace lakestream::net {
namespace {

class EpollNetworkTest : public testing::Test {
  protected:
    template <class T>
    T run(rt::Task<T> task) {
        std::promise<T> done;
        auto pending = rt::submit(loops_[0], tell(std::move(task), done));
        return done.get_future().get();
    }

    template <class T>
    static rt::Task<bool> tell(rt::Task<T> task, std::promise<T>& done) {
        done.set_value(co_await std::move(task));
        co_return true;
    }

    rt::SystemClock clock_;
    rt::ThreadPool resolver_{"resolver", 1, rt::ThreadPriority::normal};
    EpollNetwork network_{resolver_};
    rt::LoopThreads loops_{clock_, 1};
};

struct OneShot {
    bool ok;
    std::string message;
    ErrorCode code;
};

/// Both ends need a descriptor; with one left the client connects and accepting must fail.
rt::Task<OneShot> accept_without_descriptors(rt::Loop& loop, Network& network) {
    auto listener = network.listen(loop, {"127.0.0.1", 0}).value();
    auto client = (co_await network.connect(listener->address(), no_deadline)).value();
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const int next = dup(0);  // the lowest free descriptor
    close(next);
    const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    const auto refused = co_await listener->accept(loop);
    setrlimit(RLIMIT_NOFILE, &before);
    const auto accepted = co_await listener->accept(loop);
    co_return OneShot{accepted.ok(), refused.error().message, refused.error().code};
}

TEST_F(EpollNetworkTest, without_descriptors_accept_says_so_and_recovers) {
    const OneShot shot = run(accept_without_descriptors(loops_[0], network_));
    EXPECT_EQ(shot.code, ErrorCode::exhausted);
    EXPECT_NE(shot.message.find("ulimit -n"), std::string::npos) << shot.message;
    EXPECT_TRUE(shot.ok);
}

rt::Task<Status> connect(Network& network, Address address, Deadline deadline) {
    static_cast<void>(LKS_CO_TRY(co_await network.connect(std::move(address), deadline)));
    co_return Status();
}

TEST_F(EpollNetworkTest, an_unknown_name_is_named) {
    const Status status = run(connect(network_, {"no-such-host.invalid", 1}, no_deadline));
    EXPECT_TRUE(status.is(ErrorCode::not_found));
    EXPECT_NE(status.error().message.find("no-such-host.invalid"), std::string::npos);
}

}  // namespace
}  // namespace lakestream::net
