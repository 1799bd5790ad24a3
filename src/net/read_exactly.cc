// SPDX-License-Identifier: Apache-2.0
// Reading a known number of bytes.
#include "base/format.h"
#include "net/net.h"

namespace lakestream::net {

rt::Task<Status> read_exactly(
    Stream& stream, std::span<std::byte> into, Deadline deadline, std::string_view who
) {
    while (!into.empty()) {
        const std::size_t count = LKS_CO_TRY(co_await stream.read_some(into, deadline));
        if (count == 0) {
            co_return unavailable("{} closed the connection", who);
        }
        into = into.subspan(count);
    }
    co_return Status();
}

}  // namespace lakestream::net
