// SPDX-License-Identifier: Apache-2.0
// Descriptors on a loop, and the system's form of addresses.
#include "net/epoll/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace lakestream::net {

namespace {

constexpr int turns_max = 32;  // calls in a row that did not wait

struct FreeAddresses {
    void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

}  // namespace

void UniqueFd::reset() noexcept {
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
}

Address SocketAddress::to_address() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (family() == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &storage, sizeof(v4));
        inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
        return {text.data(), ntohs(v4.sin_port)};
    }
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof(v6));
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
    } else {
        inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    }
    return {text.data(), ntohs(v6.sin6_port)};
}

Result<std::vector<SocketAddress>> resolve(const Address& address) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const std::string port = std::to_string(address.port);
    if (const int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &list)) {
        return not_found(
            "host '{}' cannot be resolved ({}): check the name", address.host, gai_strerror(error)
        );
    }
    const std::unique_ptr<addrinfo, FreeAddresses> owner(list);
    std::vector<SocketAddress> out;
    for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
        SocketAddress& one = out.emplace_back();
        std::memcpy(&one.storage, each->ai_addr, each->ai_addrlen);
        one.size = each->ai_addrlen;
    }
    return out;
}

std::string errno_text(int error) {
    const char* text = strerrordesc_np(error);
    return text != nullptr ? text : fmt::format("error {}", error);
}

void Socket::close() {
    if (closed()) {
        return;
    }
    if (watched_) {
        loop_.unwatch(fd(), *this);
    }
    fd_.reset();
    readable_.notify_all();
    writable_.notify_all();
    closed_.notify_all();
}

void Socket::watch() {
    turns_ = 0;
    if (!watched_) {
        // Readiness of before is reported too, so nothing is missed between EAGAIN and here.
        loop_.watch(fd(), *this);
        watched_ = true;
    }
}

rt::Signal::Waiter Socket::wait_readable(Deadline deadline) {
    watch();
    return readable_.wait(deadline);
}

rt::Signal::Waiter Socket::wait_writable(Deadline deadline) {
    watch();
    return writable_.wait(deadline);
}

bool Socket::wants_yield() noexcept {
    if (++turns_ < turns_max) {
        return false;
    }
    turns_ = 0;
    return true;
}

void Socket::on_ready(bool readable, bool writable) {
    if (readable) {
        readable_.notify_all();
    }
    if (writable) {
        writable_.notify_all();
    }
}

}  // namespace lakestream::net
