// SPDX-License-Identifier: Apache-2.0
// One reader, one writer, and one task for each request in flight.
#include "kafka/connection.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "kafka/handlers/api_versions.h"

namespace lakestream::kafka {

namespace {

constexpr std::size_t write_bytes_min = 1 << 20;  // answers are gathered up to here
constexpr std::uint32_t small_request_bytes = 64 << 10;
constexpr std::size_t write_piece_bytes = 1 << 20;
constexpr auto write_patience = std::chrono::seconds(3);  // for a piece, while others wait

}  // namespace

Connection::Connection(Shard& shard, std::unique_ptr<net::Stream> stream, std::string listener)
    : shard_(shard),
      stream_(std::move(stream)),
      options_(shard.options.connection),
      peer_{.address = stream_->peer(), .listener = std::move(listener)},
      frames_(*stream_, shard.executor, shard.request_memory, options_.request_bytes_max),
      scope_(shard.executor) {}

rt::Task<void> Connection::run() {
    scope_.spawn(write_responses());
    const Status end = co_await read_requests();
    if (!end.ok() && !end.is(ErrorCode::cancelled) && !end.is(ErrorCode::unavailable)) {
        log::warn(
            "kafka",
            "connection_closed peer={} client={} error={}",
            peer_.address.to_string(),
            peer_.client_id,
            end.error()
        );
    }
    ending_ = true;
    changed_.notify_all();
    while (!written_) {
        co_await changed_.wait();
    }
    co_await scope_.close();
}

void Connection::drain() {
    ending_ = true;
    changed_.notify_all();
}

void Connection::close() {
    ending_ = broken_ = true;
    stream_->close();
    changed_.notify_all();
}

bool Connection::full() const {
    return slots_.size() + unanswered_ >= options_.requests_in_flight_max ||
           bytes_ >= options_.bytes_in_flight_max;
}

Deadline Connection::patience(std::uint64_t bytes) const {
    return shard_.executor.now() + options_.stall_max + std::chrono::seconds(bytes >> 20);
}

bool Connection::is_slow() const {
    return write_due_ < shard_.executor.now();
}

rt::Task<Status> Connection::read_requests() {
    while (true) {
        while (full() && !ending_) {
            co_await changed_.wait();
        }
        if (ending_) {
            co_return Status();
        }
        const auto head = LKS_CO_TRY(co_await next_head());
        if (!head.has_value() || ending_) {
            co_return Status();
        }
        LKS_CO_TRY(co_await read_one(*head));
    }
}

rt::Task<Result<std::optional<FrameHead>>> Connection::next_head() {
    while (true) {
        const bool idle = slots_.empty() && unanswered_ == 0;
        auto head = co_await frames_.head(shard_.executor.now() + options_.idle_max);
        if (head.is(ErrorCode::deadline_exceeded) && !idle && !frames_.inside_request()) {
            continue;  // it has been waiting for answers
        }
        if (head.is(ErrorCode::invalid_argument)) {
            shard_.backend.metrics.requests_refused.add();
        }
        co_return std::move(head);
    }
}

Error Connection::refuse(const FrameHead& head) const {
    shard_.backend.metrics.requests_refused.add();
    const auto* known = codec::kafka::find_api(head.api_key);
    return unsupported(
        "{} version {} is not served",
        known != nullptr ? std::string(known->name) : fmt::format("API key {}", head.api_key),
        head.version
    );
}

rt::Task<Status> Connection::read_one(FrameHead head) {
    const MonoTime arrived = shard_.executor.now();
    const WallTime arrived_wall = shard_.executor.clock().wall_now();
    const Api* const api = find_served(head.api_key);
    if (api == nullptr) {
        co_return refuse(head);
    }
    const bool known_version = api->versions.contains(head.version);
    if (!known_version && api->key != codec::kafka::ApiKey::api_versions) {
        co_return refuse(head);
    }
    Admitted admitted(
        shard_.request_memory,
        head.bytes <= small_request_bytes ? RequestSize::small : RequestSize::large
    );
    Bytes frame = LKS_CO_TRY(co_await read_body(*api, head, admitted));
    shard_.backend.metrics.bytes_in.add(frame.size() + sizeof(std::int32_t));
    if (ending_) {
        co_return Status();
    }
    const Call call{
        .shard = shard_,
        .peer = peer_,
        .api = api->key,
        .version = head.version,
        .correlation_id = head.correlation_id,
        .arrived = arrived,
        .arrived_wall = arrived_wall,
        .frame_bytes = head.bytes,
    };
    shard_.backend.metrics.count_request(api->key);
    if (known_version) {
        co_await begin(*api, call, std::move(frame), std::move(admitted));
    } else {
        Slot& slot = slots_.emplace_back();
        slot.reply = ApiVersionsHandler::unknown_version(call);
        slot.done = true;
        changed_.notify_all();
    }
    co_return Status();
}

rt::Task<Result<Bytes>> Connection::read_body(const Api& api, FrameHead head, Admitted& admitted) {
    Deadline deadline = patience(head.bytes);
    while (const std::uint32_t step = frames_.next_step()) {
        const MonoTime asked = shard_.executor.now();
        co_await shard_.request_memory.grow(admitted, api.memory(step));
        deadline += shard_.executor.now() - asked;  // that wait is not the client's fault
        LKS_CO_TRY(co_await frames_.read_up_to(step, deadline));
    }
    co_return frames_.take_body();
}

rt::Task<void> Connection::begin(const Api& api, Call call, Bytes frame, Admitted admitted) {
    const std::uint64_t bytes = frame.size();
    bytes_ += bytes;
    beginning_ = true;
    Started started = co_await api.start(call, std::move(frame));
    beginning_ = false;
    if (started.answered == Answered::no) {
        ++unanswered_;
        scope_.spawn(finish_unanswered(bytes, call, std::move(started), std::move(admitted)));
        co_return;
    }
    // References into a deque stay good while others come and go at its ends.
    Slot& slot = slots_.emplace_back(Slot{.bytes = bytes, .reply = {}});
    scope_.spawn(finish(slot, call, std::move(started), std::move(admitted)));
}

rt::Task<void> Connection::finish(
    Slot& slot, Call call, Started started, [[maybe_unused]] Admitted admitted
) {
    const metrics::Raised running(shard_.backend.metrics.requests_running);
    slot.reply = co_await std::move(started.rest);
    bytes_ -= slot.bytes;
    slot.bytes = slot.reply.frame.size();
    bytes_ += slot.bytes;
    slot.done = true;
    if (written_) {
        slot.reply = {};  // nobody will take it
    }
    shard_.backend.metrics.observe_latency(call.api, shard_.executor.now() - call.arrived);
    changed_.notify_all();
}

rt::Task<void> Connection::finish_unanswered(
    std::uint64_t bytes, Call call, Started started, [[maybe_unused]] Admitted admitted
) {
    const metrics::Raised running(shard_.backend.metrics.requests_running);
    const Reply reply = co_await std::move(started.rest);
    bytes_ -= bytes;
    --unanswered_;
    shard_.backend.metrics.observe_latency(call.api, shard_.executor.now() - call.arrived);
    if (reply.then == Reply::Then::close) {
        close();
    }
    changed_.notify_all();
}

rt::Task<Status> Connection::write_piece(Slices piece, Deadline deadline) {
    write_due_ = shard_.executor.now() + write_patience;
    co_return co_await stream_->write(std::move(piece), deadline);
}

/// So that it shows whether the client takes anything.
rt::Task<Status> Connection::write_in_pieces(Slices frames) {
    const Deadline deadline = patience(frames.size());
    Slices piece;
    for (const Bytes& part : frames.parts()) {
        for (std::size_t at = 0; at < part.size();) {
            const std::size_t count = std::min(part.size() - at, write_piece_bytes - piece.size());
            piece.append(part.slice(at, count));
            at += count;
            if (piece.size() == write_piece_bytes) {
                LKS_CO_TRY(co_await write_piece(std::exchange(piece, {}), deadline));
            }
        }
    }
    co_return piece.empty() ? Status() : co_await write_piece(std::move(piece), deadline);
}

rt::Task<void> Connection::write_responses() {
    while (true) {
        const auto ready = [&] { return !slots_.empty() && slots_.front().done; };
        const auto idle = [&] { return slots_.empty() && unanswered_ == 0 && !beginning_; };
        while (!broken_ && !ready() && !(ending_ && idle())) {
            co_await changed_.wait();
        }
        if (broken_ || !ready()) {
            break;
        }
        Slices frames;
        std::size_t count = 0;
        bool last = false;
        for (; count < slots_.size() && slots_[count].done && !last; ++count) {
            last = slots_[count].reply.then == Reply::Then::close;
            frames.append(slots_[count].reply.frame);
            if (frames.size() >= write_bytes_min) {
                ++count;
                break;
            }
        }
        const std::size_t size = frames.size();
        const Status written = co_await write_in_pieces(std::move(frames));
        const bool was_slow = broken_ && is_slow();
        write_due_ = MonoTime::max();
        if (was_slow || written.is(ErrorCode::deadline_exceeded)) {
            log::warn(
                "kafka",
                "client_does_not_read peer={} client={} bytes={}",
                peer_.address.to_string(),
                peer_.client_id,
                size
            );
        }
        if (!written.ok() || last) {
            close();
            break;
        }
        shard_.backend.metrics.bytes_out.add(size);
        for (; count > 0; --count) {
            bytes_ -= slots_.front().bytes;
            slots_.pop_front();
        }
        changed_.notify_all();
    }
    stream_->close();
    ending_ = written_ = true;
    for (Slot& slot : slots_) {
        slot.reply = {};  // its memory is not kept for requests that still run
    }
    changed_.notify_all();
}

}  // namespace lakestream::kafka
