// SPDX-License-Identifier: Apache-2.0
// FrameReader: splits what a stream delivers into requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/time.h"
#include "kafka/request_memory.h"
#include "lakestream/bytes.h"
#include "net/net.h"
#include "rt/executor.h"
#include "rt/task.h"

namespace lakestream::kafka {

/// How a request begins: all that is known before memory is given to it.
struct FrameHead {
    std::uint32_t bytes = 0;  // of the whole request, without the size in front of it
    std::int16_t api_key = 0;
    std::int16_t version = 0;
    std::int32_t correlation_id = 0;
};

/// Belongs to one connection. After each `head` its body is read, step by step:
///
///     while (const std::uint32_t step = frames.next_step()) {
///         ... memory for `step` bytes in all ...
///         LKS_CO_TRY(co_await frames.read_up_to(step, deadline));
///     }
///     Bytes body = frames.take_body();
///
/// Small requests arrive through a buffer of 4 KiB and are copied out of it; of a larger one all
/// but the beginning is read straight into the memory that its records will stay in. Memory for a
/// request above 2 MiB grows with what has arrived, never with what is claimed.
class FrameReader {
  public:
    FrameReader(
        net::Stream& stream,
        const rt::Executor& executor,
        const RequestMemory& memory,
        std::uint32_t frame_bytes_max
    )
        : stream_(stream),
          executor_(executor),
          request_memory_(memory),
          frame_bytes_max_(frame_bytes_max) {}
    FrameReader(const FrameReader&) = delete;
    FrameReader& operator=(const FrameReader&) = delete;

    /// The next request's beginning; none when the peer ended its side between requests. Errors:
    /// `invalid_argument` (a size that is not allowed), `unavailable` (ended within a request, or
    /// reset), `deadline_exceeded` (may be called again), `cancelled`.
    rt::Task<Result<std::optional<FrameHead>>> head(Deadline deadline);

    /// Bytes of the request announced by the last `head`, its header included, that there will be
    /// after the next step: all of them, or twice what has arrived. 0 when all are there.
    std::uint32_t next_step() const noexcept;

    /// Read until there are `bytes` of them. Errors as above, and `deadline_exceeded` when the peer
    /// is slower than 64 KiB in 2 s while somebody waits for request memory.
    rt::Task<Status> read_up_to(std::uint32_t bytes, Deadline deadline);

    /// The request. Precondition: all of it has been read.
    Bytes take_body();

    /// Whether a request has begun to arrive.
    bool inside_request() const noexcept { return filled_ > taken_; }

  private:
    static constexpr std::size_t buffer_bytes = 4096;
    static constexpr std::size_t chunk_bytes = 2 << 20;

    std::span<const std::byte> buffered() const {
        return std::span(buffer_).subspan(taken_, filled_ - taken_);
    }

    rt::Task<Status> fill(std::size_t wanted, Deadline deadline);
    rt::Task<Status> read_exactly(std::span<std::byte> into, Deadline deadline);

    net::Stream& stream_;
    const rt::Executor& executor_;
    const RequestMemory& request_memory_;
    std::uint32_t frame_bytes_max_;
    std::uint32_t frame_bytes_ = 0;  // of the request announced last
    std::uint32_t have_ = 0;         // of them, in `body_`
    std::shared_ptr<std::byte[]> body_;
    std::size_t taken_ = 0;
    std::size_t filled_ = 0;
    std::array<std::byte, buffer_bytes> buffer_;
};

}  // namespace lakestream::kafka
