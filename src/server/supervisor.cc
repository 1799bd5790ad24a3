// SPDX-License-Identifier: Apache-2.0
// One datagram for each state.
#include "server/supervisor.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace lakestream::server {

Status Supervisor::notify(std::string_view state) const {
    if (socket_.empty()) {
        return {};
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_.size() >= sizeof(address.sun_path)) {
        return invalid_argument("NOTIFY_SOCKET is too long: {}", socket_);
    }
    std::ranges::copy(socket_, address.sun_path);
    if (socket_.front() == '@') {
        address.sun_path[0] = '\0';
    }
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return exhausted("no socket for {}: {}", socket_, std::strerror(errno));
    }
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
    const auto* const target = reinterpret_cast<const sockaddr*>(&address);
    const ssize_t sent = ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, target, length);
    const int failed = errno;
    ::close(fd);
    if (sent < 0) {
        return unavailable("cannot tell {}: {}", socket_, std::strerror(failed));
    }
    return {};
}

}  // namespace lakestream::server
