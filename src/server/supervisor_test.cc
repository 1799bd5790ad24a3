// SPDX-License-Identifier: Apache-2.0
// What a supervisor hears.
#include "server/supervisor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/format.h"

namespace lakestream::server {
namespace {

/// A supervisor's socket.
class Listener {
  public:
    explicit Listener(const std::string& name) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name.data(), name.size());
        if (name.front() == '@') {
            address.sun_path[0] = '\0';
        }
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener() { ::close(fd_); }

    std::string next() {
        std::array<char, 64> text{};
        const ssize_t size = ::recv(fd_, text.data(), text.size(), MSG_DONTWAIT);
        return size < 0 ? "nothing" : std::string(text.data(), static_cast<std::size_t>(size));
    }

  private:
    int fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

TEST(Supervisor, hears_each_state_by_path_and_by_abstract_name) {
    const std::string folder = ::testing::TempDir() + fmt::format("notify-{}", ::getpid());
    std::filesystem::create_directory(folder);
    for (const std::string& name :
         {folder + "/socket", fmt::format("@lakestream-test-{}", ::getpid())}) {
        Listener listener(name);
        const Supervisor supervisor(name);
        EXPECT_TRUE(supervisor.notify("READY=1").ok());
        EXPECT_TRUE(supervisor.notify("STOPPING=1").ok());
        EXPECT_EQ(listener.next(), "READY=1");
        EXPECT_EQ(listener.next(), "STOPPING=1");
        EXPECT_EQ(listener.next(), "nothing");
    }
    std::filesystem::remove_all(folder);
}

TEST(Supervisor, that_is_not_there_is_an_error_and_none_is_not) {
    EXPECT_TRUE(Supervisor("").notify("READY=1").ok());
    EXPECT_TRUE(Supervisor("/nobody/listens/here").notify("READY=1").is(ErrorCode::unavailable));
    EXPECT_TRUE(Supervisor(std::string(200, 'x')).notify("READY=1").is(ErrorCode::invalid_argument)
    );
}

}  // namespace
}  // namespace lakestream::server
