// SPDX-License-Identifier: Apache-2.0
// TCP streams and listeners.
#include "net/epoll/network.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/uio.h>

#include <array>
#include <bit>
#include <cerrno>

#include "base/assert.h"
#include "net/epoll/socket.h"
#include "rt/task.h"

namespace lakestream::net {

namespace {

constexpr int backlog = 1024;
constexpr std::size_t slices_per_call = 256;  // 4 KiB of stack, below IOV_MAX
constexpr Duration exhausted_pause = 100ms;

rt::Loop& loop_of(rt::Executor& executor) {
    auto* loop = dynamic_cast<rt::Loop*>(&executor);
    LKS_ASSERT(loop != nullptr);
    return *loop;
}

bool would_block(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

void enable(int fd, int level, int option) {
    const int on = 1;
    // Best effort: a stream works without it, only slower.
    static_cast<void>(setsockopt(fd, level, option, &on, sizeof(on)));
}

class EpollStream final : public Stream {
  public:
    EpollStream(rt::Loop& loop, UniqueFd fd, Address peer)
        : socket_(loop, std::move(fd)), peer_(std::move(peer)) {
        enable(socket_.fd(), IPPROTO_TCP, TCP_NODELAY);
        enable(socket_.fd(), SOL_SOCKET, SO_KEEPALIVE);
    }

    rt::Task<Result<std::size_t>> read_some(std::span<std::byte> into, Deadline deadline) override {
        LKS_ASSERT(!into.empty());
        if (socket_.wants_yield()) {
            co_await rt::yield();
        }
        while (true) {
            if (socket_.closed()) {
                co_return closed_by_us();
            }
            const ssize_t count = recv(socket_.fd(), into.data(), into.size(), 0);
            if (count >= 0) {
                co_return static_cast<std::size_t>(count);
            }
            if (const int error = errno; would_block(error)) {
                if (!co_await socket_.wait_readable(deadline)) {
                    co_return deadline_exceeded("{} sent nothing in time", peer_.to_string());
                }
            } else if (error != EINTR) {
                co_return broken(error);
            }
        }
    }

    rt::Task<Status> write(Slices data, Deadline deadline) override {
        std::size_t part = 0;    // the first part that is not wholly sent
        std::size_t offset = 0;  // in that part
        while (part < data.parts().size()) {
            if (socket_.closed()) {
                co_return closed_by_us();
            }
            const ssize_t sent = send_some(data, part, offset);
            if (sent >= 0) {
                advance(data, static_cast<std::size_t>(sent), part, offset);
            } else if (const int error = errno; would_block(error)) {
                if (!co_await socket_.wait_writable(deadline)) {
                    co_return deadline_exceeded("{} does not read", peer_.to_string());
                }
            } else if (error != EINTR) {
                co_return broken(error);
            }
        }
        co_return Status();
    }

    void close() override { socket_.close(); }
    Address peer() const override { return peer_; }

  private:
    ssize_t send_some(const Slices& data, std::size_t part, std::size_t offset) const {
        std::array<iovec, slices_per_call> pieces;  // NOLINT: filled below
        std::size_t count = 0;
        for (; part < data.parts().size() && count < pieces.size(); ++part) {
            const Bytes& bytes = data.parts()[part];
            // The system only reads through this pointer.
            pieces[count++] = {std::bit_cast<void*>(bytes.data() + offset), bytes.size() - offset};
            offset = 0;
        }
        msghdr message{};
        message.msg_iov = pieces.data();
        message.msg_iovlen = count;
        return sendmsg(socket_.fd(), &message, MSG_NOSIGNAL);
    }

    static void advance(
        const Slices& data, std::size_t sent, std::size_t& part, std::size_t& offset
    ) {
        offset += sent;
        while (part < data.parts().size() && offset >= data.parts()[part].size()) {
            offset -= data.parts()[part].size();
            ++part;
        }
    }

    Error closed_by_us() const {
        return cancelled("the connection with {} was closed here", peer_.to_string());
    }
    Error broken(int error) const {
        return unavailable("connection with {}: {}", peer_.to_string(), errno_text(error));
    }

    Socket socket_;
    Address peer_;
};

class EpollListener final : public Listener {
  public:
    EpollListener(rt::Loop& loop, UniqueFd fd, Address address)
        : socket_(loop, std::move(fd)), address_(std::move(address)) {}

    rt::Task<Result<std::unique_ptr<Stream>>> accept(rt::Executor& executor) override {
        if (socket_.wants_yield()) {
            co_await rt::yield();
        }
        while (true) {
            if (socket_.closed()) {
                co_return closed_by_us();
            }
            SocketAddress peer;
            UniqueFd fd(accept4(socket_.fd(), peer.get(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC)
            );
            if (fd) {
                co_return std::make_unique<EpollStream>(
                    loop_of(executor), std::move(fd), peer.to_address()
                );
            }
            const int error = errno;
            if (would_block(error)) {
                co_await socket_.wait_readable(no_deadline);
            } else if (exhausts(error)) {
                rt::Executor& here = co_await rt::this_executor();
                if (co_await socket_.pause(here.now() + exhausted_pause)) {
                    co_return closed_by_us();
                }
                co_return exhausted(
                    "{} accepts no connection: {}; raise the limit of open files (ulimit -n)",
                    address_.to_string(),
                    errno_text(error)
                );
            }
            // Anything else is about the one connection that failed before we took it.
        }
    }

    void close() override { socket_.close(); }
    Address address() const override { return address_; }

  private:
    static bool exhausts(int error) {
        return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    }
    Error closed_by_us() const {
        return cancelled("the listener on {} was closed", address_.to_string());
    }

    Socket socket_;
    Address address_;
};

Error listen_failed(const Address& address, int error) {
    const std::string text = address.to_string();
    switch (error) {
        case EADDRINUSE:
            return already_exists(
                "{} is taken by another process: stop it or choose another port", text
            );
        case EACCES:
        case EPERM:
            return unsupported(
                "no permission to listen on {}: choose a port from 1024 up or grant "
                "CAP_NET_BIND_SERVICE",
                text
            );
        case EADDRNOTAVAIL:
            return invalid_argument(
                "{} is no address of this machine: choose one of its own, or 0.0.0.0 for all", text
            );
        default: return invalid_argument("cannot listen on {}: {}", text, errno_text(error));
    }
}

Result<UniqueFd> bind_and_listen(const Address& address, const SocketAddress& to) {
    UniqueFd fd(socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) {
        return listen_failed(address, errno);
    }
    enable(fd.get(), SOL_SOCKET, SO_REUSEADDR);
    if (bind(fd.get(), to.get(), to.size) != 0 || ::listen(fd.get(), backlog) != 0) {
        return listen_failed(address, errno);
    }
    return fd;
}

rt::Task<Result<std::unique_ptr<Stream>>> connect_one(
    rt::Loop& loop, Address name, SocketAddress to, Deadline deadline
) {
    const auto failed = [&](int error) {
        return unavailable("cannot connect to {}: {}", name.to_string(), errno_text(error));
    };
    UniqueFd made(socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) {
        co_return failed(errno);
    }
    if (connect(made.get(), to.get(), to.size) != 0) {
        if (errno != EINPROGRESS) {
            co_return failed(errno);
        }
        // Watched through a second descriptor, so that the stream begins unwatched.
        Socket pending(loop, UniqueFd(dup(made.get())));
        if (pending.closed()) {
            co_return failed(errno);
        }
        if (!co_await pending.wait_writable(deadline)) {
            co_return deadline_exceeded("{} did not answer in time", name.to_string());
        }
        int error = 0;
        socklen_t size = sizeof(error);
        LKS_ASSERT(getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0);
        if (error != 0) {
            co_return failed(error);
        }
    }
    co_return std::make_unique<EpollStream>(loop, std::move(made), std::move(name));
}

}  // namespace

Result<std::unique_ptr<Listener>> EpollNetwork::listen(
    rt::Executor& executor, const Address& address
) {
    auto resolved = resolve(address);
    if (!resolved.ok()) {
        return invalid_argument("cannot listen: {}", resolved.error().message);
    }
    UniqueFd fd = LKS_TRY(bind_and_listen(address, resolved->front()));
    SocketAddress bound;
    LKS_ASSERT(getsockname(fd.get(), bound.get(), &bound.size) == 0);
    return std::make_unique<EpollListener>(loop_of(executor), std::move(fd), bound.to_address());
}

rt::Task<Result<std::unique_ptr<Stream>>> EpollNetwork::connect(
    Address address, Deadline deadline
) {
    rt::Loop& loop = loop_of(co_await rt::this_executor());
    const std::vector<SocketAddress> resolved =
        LKS_CO_TRY(co_await rt::offload(resolver_, [address] { return resolve(address); }));
    Result<std::unique_ptr<Stream>> last = unavailable("nothing was tried");
    for (const SocketAddress& to : resolved) {
        last = co_await connect_one(loop, address, to, deadline);
        if (last.ok() || last.is(ErrorCode::deadline_exceeded)) {
            break;
        }
    }
    co_return last;
}

}  // namespace lakestream::net
