// SPDX-License-Identifier: Apache-2.0
// Reading of stdin.
#include "cli/line_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/format.h"

namespace lakestream::cli {

namespace {

constexpr std::size_t read_bytes = 256 << 10;
constexpr int stop_within_ms = 100;
constexpr int linger_ms = 2;

}  // namespace

Result<std::string> LineInput::next() {
    std::size_t searched = 0;
    std::size_t lines_end = 0;  // behind the last line's end
    while (!ended_ && pending_.size() < chunk_bytes) {
        if (!wait_readable(lines_end > 0 ? linger_ms : stop_within_ms)) {
            if (lines_end > 0) {
                break;
            }
            if (stopped_) {
                return std::string();
            }
            continue;
        }
        LKS_TRY(read_some());
        const std::size_t last = std::string_view(pending_).substr(searched).rfind('\n');
        if (last != std::string_view::npos) {
            lines_end = searched + last + 1;
        }
        searched = pending_.size();
    }
    while (!ended_ && lines_end == 0 && !stopped_) {  // one line, longer than a chunk
        if (wait_readable(stop_within_ms)) {
            LKS_TRY(read_some());
            lines_end = pending_.find('\n', searched) + 1;
            searched = pending_.size();
        }
    }
    if (ended_) {
        return std::exchange(pending_, {});
    }
    std::string rest = pending_.substr(lines_end);
    pending_.resize(lines_end);
    return std::exchange(pending_, std::move(rest));
}

bool LineInput::wait_readable(int timeout_ms) {
    pollfd in{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    return ::poll(&in, 1, timeout_ms) != 0;  // an error shows when it is read
}

Status LineInput::read_some() {
    const std::size_t before = pending_.size();
    pending_.resize(before + read_bytes);
    const ssize_t count = ::read(STDIN_FILENO, pending_.data() + before, read_bytes);
    pending_.resize(before + static_cast<std::size_t>(std::max(count, ssize_t{0})));
    if (count < 0 && errno != EINTR) {
        return unavailable("cannot read stdin: {}", std::strerror(errno));
    }
    ended_ = count == 0;
    return {};
}

}  // namespace lakestream::cli
