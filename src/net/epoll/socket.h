// SPDX-License-Identifier: Apache-2.0
// Socket: a non-blocking descriptor that remembers its readiness; SocketAddress: the system's form.
#pragma once

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "net/net.h"
#include "rt/epoll/loop.h"
#include "rt/signal.h"

namespace lakestream::net {

/// Owns a file descriptor.
class UniqueFd {
  public:
    explicit UniqueFd(int fd = -1) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    void reset() noexcept;

  private:
    int fd_;
};

/// What bind and connect take.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = sizeof(sockaddr_storage);

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }
    /// IPv4 addresses in IPv6 clothes are undressed.
    Address to_address() const;
};

/// Blocks. Never empty. Errors: `not_found`, naming the host.
Result<std::vector<SocketAddress>> resolve(const Address& address);

/// The text of an errno value.
std::string errno_text(int error);

/// A descriptor on a loop. It is watched only once a call had to wait, so a socket may be made on
/// one thread and used on its loop's. `close` wakes who waits; the owner stays until they have run.
class Socket final : public rt::FdHandler {
  public:
    Socket(rt::Loop& loop, UniqueFd fd) : loop_(loop), fd_(std::move(fd)) {}
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() override { close(); }

    int fd() const noexcept { return fd_.get(); }
    bool closed() const noexcept { return !fd_; }
    void close();

    /// Wait after EAGAIN until trying again is worthwhile; false when the deadline came first.
    rt::Signal::Waiter wait_readable(Deadline deadline);
    rt::Signal::Waiter wait_writable(Deadline deadline);
    /// Sleep until `when` or until closed.
    rt::Signal::Waiter pause(MonoTime when) { return closed_.wait(when); }
    /// True now and then when calls never have to wait: let others run.
    bool wants_yield() noexcept;

    void on_ready(bool readable, bool writable) override;

  private:
    void watch();

    rt::Loop& loop_;
    UniqueFd fd_;
    bool watched_ = false;
    int turns_ = 0;
    rt::Signal readable_;
    rt::Signal writable_;
    rt::Signal closed_;
};

}  // namespace lakestream::net
