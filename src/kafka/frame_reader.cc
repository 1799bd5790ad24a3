// SPDX-License-Identifier: Apache-2.0
// Reading requests: the size in front, the beginning, the rest.
#include "kafka/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/endian.h"

namespace lakestream::kafka {

namespace {

constexpr std::size_t size_bytes = 4;
constexpr std::size_t head_bytes = 8;  // API key, version, correlation id: in every header version

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
    const std::byte* const at = buffered().data() + size_bytes;
    co_return FrameHead{
        .bytes = frame_bytes_,
        .api_key = load_be<std::int16_t>(at),
        .version = load_be<std::int16_t>(at + 2),
        .correlation_id = load_be<std::int32_t>(at + 4),
    };
}

rt::Task<Status> FrameReader::read_exactly(std::span<std::byte> into, Deadline deadline) {
    while (!into.empty()) {
        const std::size_t count = LKS_CO_TRY(co_await stream_.read_some(into, deadline));
        if (count == 0) {
            co_return unavailable("the peer ended within a request");
        }
        into = into.subspan(count);
    }
    co_return Status();
}

rt::Task<Result<Bytes>> FrameReader::body(Deadline deadline) {
    taken_ += size_bytes;
    std::size_t size = std::min<std::size_t>(frame_bytes_, chunk_bytes);
    auto memory = std::make_shared_for_overwrite<std::byte[]>(size);
    std::size_t have = std::min<std::size_t>(frame_bytes_, filled_ - taken_);
    std::memcpy(memory.get(), buffered().data(), have);
    taken_ += have;
    while (true) {
        LKS_CO_TRY(co_await read_exactly({memory.get() + have, size - have}, deadline));
        have = size;
        if (have == frame_bytes_) {
            break;
        }
        size = std::min<std::size_t>(frame_bytes_, size * 2);
        auto larger = std::make_shared_for_overwrite<std::byte[]>(size);
        std::memcpy(larger.get(), memory.get(), have);
        memory = std::move(larger);
    }
    const std::span<const std::byte> data(memory.get(), frame_bytes_);
    co_return Bytes::share(std::move(memory), data);
}

}  // namespace lakestream::kafka
