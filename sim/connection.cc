// SPDX-License-Identifier: Apache-2.0
// Frames out, frames in, and patience.
#include "sim/connection.h"

#include <algorithm>
#include <array>

#include "base/endian.h"
#include "base/format.h"
#include "codec/kafka/gen/headers.h"

namespace lakestream::sim {

namespace {

constexpr auto connect_patience = std::chrono::seconds(3);

}  // namespace

Connection::Connection(
    rt::Executor& executor, std::unique_ptr<net::Stream> stream, std::uint64_t life
)
    : stream_(std::move(stream)), life_(life), scope_(executor) {
    scope_.spawn(write_requests());
    scope_.spawn(read_responses());
}

void Connection::enqueue(kafka_api::ApiKey api, std::int16_t version, const Slices& body) {
    const auto key = static_cast<std::int16_t>(api);
    codec::Writer writer;
    const auto size = writer.open_int32();
    const kafka_api::RequestHeader header{
        .request_api_key = key,
        .request_api_version = version,
        .correlation_id = static_cast<std::int32_t>(sent_++),
        .client_id = "sim",
    };
    const auto& info = *kafka_api::find_api(key);
    LKS_ASSERT(header.encode(writer, kafka_api::request_header_version(info, version)).ok());
    writer.splice(body);
    writer.patch(size, static_cast<std::int32_t>(writer.bytes_since(size)));
    outbox_.push_back(writer.finish());
    changed_.notify_all();
}

rt::Future<Result<Bytes>> Connection::send(
    kafka_api::ApiKey api, std::int16_t version, Slices body, Deadline deadline
) {
    if (failed_.has_value()) {
        return rt::Future<Result<Bytes>>::ready(*failed_);
    }
    Waiting& waiting = waiting_.emplace_back();
    waiting.deadline = deadline;
    auto future = waiting.promise.future();
    enqueue(api, version, body);
    scope_.executor().call_at(deadline, [this] { check_patience(); });
    return future;
}

void Connection::check_patience() {
    if (!waiting_.empty() && waiting_.front().deadline <= scope_.executor().now()) {
        fail(deadline_exceeded("{} did not answer in time", stream_->peer().to_string()));
    }
}

void Connection::send_unanswered(kafka_api::ApiKey api, std::int16_t version, Slices body) {
    if (!failed_.has_value()) {
        enqueue(api, version, body);
    }
}

Status Connection::skip_header(codec::Reader& reader, kafka_api::ApiKey api, std::int16_t version) {
    const auto& info = *kafka_api::find_api(static_cast<std::int16_t>(api));
    LKS_TRY(
        kafka_api::ResponseHeader::decode(reader, kafka_api::response_header_version(info, version))
    );
    return {};
}

rt::Task<void> Connection::write_requests() {
    while (!failed_.has_value()) {
        if (outbox_.empty()) {
            co_await changed_.wait();
            continue;
        }
        Slices next = std::move(outbox_.front());
        outbox_.pop_front();
        Status written = co_await stream_->write(std::move(next), no_deadline);
        if (!written.ok()) {
            fail(std::move(written).error());
        }
    }
}

rt::Task<void> Connection::read_responses() {
    while (!failed_.has_value()) {
        Result<Bytes> frame = co_await read_frame();
        if (!frame.ok()) {
            fail(std::move(frame).error());
        } else if (!failed_.has_value()) {
            LKS_ASSERT(!waiting_.empty());
            auto promise = std::move(waiting_.front().promise);
            waiting_.pop_front();
            promise.set(std::move(frame));
        }
    }
}

rt::Task<Result<Bytes>> Connection::read_frame() {
    std::array<std::byte, 4> prefix;
    LKS_CO_TRY(co_await net::read_exactly(*stream_, prefix, no_deadline, "the node"));
    const auto size = load_be<std::int32_t>(prefix.data());
    LKS_ASSERT(size >= 4);
    std::vector<std::byte> frame(static_cast<std::size_t>(size));
    LKS_CO_TRY(co_await net::read_exactly(*stream_, frame, no_deadline, "the node"));
    co_return Bytes::own(std::move(frame));
}

void Connection::fail(Error error) {
    if (failed_.has_value()) {
        return;
    }
    failed_ = std::move(error);
    stream_->close();
    outbox_.clear();
    for (; !waiting_.empty(); waiting_.pop_front()) {
        waiting_.front().promise.set(*failed_);
    }
    changed_.notify_all();
}

Connections::Connections(World& world, rt::SimExecutor& executor, std::string client)
    : world_(world), executor_(executor), network_(world.wires, std::move(client)) {}

rt::Task<Result<Connection*>> Connections::get(Host& host) {
    Connection*& slot = open_[&host];
    if (slot != nullptr && !slot->failed()) {
        co_return slot;
    }
    auto stream =
        LKS_CO_TRY(co_await network_.connect(host.address(), executor_.now() + connect_patience));
    if (!host.up()) {
        co_return unavailable("{} is down", host.name());
    }
    all_.push_back(std::make_unique<Connection>(executor_, std::move(stream), host.life().number));
    open_[&host] = all_.back().get();
    co_return all_.back().get();
}

void Connections::close_all() {
    for (const auto& connection : all_) {
        connection->close();
    }
}

}  // namespace lakestream::sim
