// SPDX-License-Identifier: Apache-2.0
// Reading requests: the size in front, the beginning, the rest.
#include "kafka/frame_reader.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "base/endian.h"

namespace lakestream::kafka {

namespace {

constexpr std::size_t size_bytes = 4;
constexpr std::size_t head_bytes = 8;  // API key, version, correlation id: in every header version

// Who brings less is not waited for while others want memory.
constexpr Duration pace_window = 2s;
constexpr std::size_t pace_bytes = 64 << 10;

}  // namespace

rt::Task<Status> FrameReader::fill(std::size_t wanted, Deadline deadline) {
    if (buffer_bytes - taken_ < wanted) {
        std::memmove(buffer_.data(), buffer_.data() + taken_, filled_ - taken_);
        filled_ -= std::exchange(taken_, 0);
    }
    while (filled_ - taken_ < wanted) {
        const std::size_t count =
            LKS_CO_TRY(co_await stream_.read_some(std::span(buffer_).subspan(filled_), deadline));
        if (count == 0) {
            co_return unavailable("the peer ended within a request");
        }
        filled_ += count;
    }
    co_return Status();
}

rt::Task<Result<std::optional<FrameHead>>> FrameReader::head(Deadline deadline) {
    if (taken_ == filled_) {
        taken_ = filled_ = 0;
        filled_ = LKS_CO_TRY(co_await stream_.read_some(buffer_, deadline));
        if (filled_ == 0) {
            co_return std::optional<FrameHead>();
        }
    }
    LKS_CO_TRY(co_await fill(size_bytes, deadline));
    const auto claimed = load_be<std::int32_t>(buffered().data());
    if (claimed < static_cast<std::int32_t>(head_bytes) ||
        static_cast<std::uint32_t>(claimed) > frame_bytes_max_) {
        co_return invalid_argument(
            "a request of {} bytes; allowed are {} to {}", claimed, head_bytes, frame_bytes_max_
        );
    }
    LKS_CO_TRY(co_await fill(size_bytes + head_bytes, deadline));
    frame_bytes_ = static_cast<std::uint32_t>(claimed);
    have_ = 0;
    const std::byte* const at = buffered().data() + size_bytes;
    co_return FrameHead{
        .bytes = frame_bytes_,
        .api_key = load_be<std::int16_t>(at),
        .version = load_be<std::int16_t>(at + 2),
        .correlation_id = load_be<std::int32_t>(at + 4),
    };
}

rt::Task<Status> FrameReader::read_exactly(std::span<std::byte> into, Deadline deadline) {
    MonoTime window_end = executor_.now() + pace_window;
    std::size_t in_window = 0;
    while (!into.empty()) {
        const auto read = co_await stream_.read_some(into, std::min(deadline, window_end));
        if (read.ok() && *read == 0) {
            co_return unavailable("the peer ended within a request");
        }
        if (read.ok()) {
            in_window += *read;
            into = into.subspan(*read);
        } else if (!read.is(ErrorCode::deadline_exceeded) || executor_.now() >= deadline) {
            co_return read.error();
        }
        if (executor_.now() >= window_end) {
            if (in_window < pace_bytes && !into.empty() && request_memory_.contended()) {
                co_return deadline_exceeded(
                    "{} bytes of a request in 2 s while others wait for memory", in_window
                );
            }
            window_end = executor_.now() + pace_window;
            in_window = 0;
        }
    }
    co_return Status();
}

std::uint32_t FrameReader::next_step() const noexcept {
    if (have_ == frame_bytes_) {
        return 0;
    }
    return std::min<std::uint32_t>(frame_bytes_, std::max<std::uint32_t>(have_ * 2, chunk_bytes));
}

rt::Task<Status> FrameReader::read_up_to(std::uint32_t bytes, Deadline deadline) {
    auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
    if (body_ == nullptr) {
        taken_ += size_bytes;
        have_ = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, filled_ - taken_));
        std::memcpy(memory.get(), buffered().data(), have_);
        taken_ += have_;
    } else {
        std::memcpy(memory.get(), body_.get(), have_);
    }
    body_ = std::move(memory);
    LKS_CO_TRY(co_await read_exactly({body_.get() + have_, bytes - have_}, deadline));
    have_ = bytes;
    co_return Status();
}

Bytes FrameReader::take_body() {
    LKS_ASSERT(have_ == frame_bytes_);
    const std::span<const std::byte> data(body_.get(), have_);
    return Bytes::share(std::exchange(body_, nullptr), data);
}

}  // namespace lakestream::kafka
