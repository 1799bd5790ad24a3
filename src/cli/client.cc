// SPDX-License-Identifier: Apache-2.0
// Frames out, frames in.
#include "cli/client.h"

#include <algorithm>

#include "base/assert.h"
#include "base/endian.h"
#include "base/format.h"
#include "codec/kafka/gen/api_versions.h"
#include "codec/kafka/gen/headers.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;

namespace {

constexpr std::string_view client_name = "lakestream-cli";
constexpr std::int32_t frame_bytes_max = 1 << 30;
constexpr std::size_t chunk_bytes = 1 << 20;
constexpr std::size_t reserved_bytes_max = 8 << 20;  // of a claimed size; more has to arrive first

}  // namespace

Broker::Broker(rt::Executor& executor, std::unique_ptr<net::Stream> stream)
    : stream_(std::move(stream)), scope_(executor) {
    version_max_.fill(-1);
    scope_.spawn(write_requests());
    scope_.spawn(read_responses());
}

rt::Task<Result<std::unique_ptr<Broker>>> Broker::connect(
    net::Network& network, net::Address address, Deadline deadline
) {
    rt::Executor& executor = co_await rt::this_executor();
    auto stream = co_await network.connect(std::move(address), deadline);
    if (stream.is(ErrorCode::unavailable)) {
        co_return unavailable("{}; is a broker running there?", stream.error().message);
    }
    auto broker = std::make_unique<Broker>(executor, LKS_CO_TRY(std::move(stream)));
    Status learned = co_await broker->learn_versions();
    if (!learned.ok()) {
        co_await broker->close();
        co_return std::move(learned).error();
    }
    co_return broker;
}

rt::Task<void> Broker::close() {
    fail(cancelled("the connection was closed"));
    co_await scope_.close();
}

Result<std::int16_t> Broker::version(kafka::ApiKey api, std::int16_t at_most) const {
    const auto key = static_cast<std::int16_t>(api);
    const kafka::ApiInfo& info = *kafka::find_api(key);
    const std::int16_t theirs = version_max_[static_cast<std::size_t>(key)];
    const std::int16_t used = std::min({theirs, info.versions.last, at_most});
    if (used < info.versions.first) {
        return unsupported(
            "this broker does not serve {}{}: see `lakestream cluster apis`",
            info.name,
            theirs < 0 ? "" : " in a version we speak"
        );
    }
    return used;
}

rt::Future<Result<Bytes>> Broker::send(kafka::ApiKey api, std::int16_t version, Slices body) {
    if (failed_.has_value()) {
        return rt::Future<Result<Bytes>>::ready(*failed_);
    }
    const auto key = static_cast<std::int16_t>(api);
    const kafka::ApiInfo& info = *kafka::find_api(key);
    codec::Writer writer;
    const auto size = writer.open_int32();
    const kafka::RequestHeader header{
        .request_api_key = key,
        .request_api_version = version,
        .correlation_id = next_correlation_++,
        .client_id = std::string(client_name),
    };
    const Status encoded = header.encode(writer, kafka::request_header_version(info, version));
    LKS_ASSERT(encoded.ok());
    writer.splice(body);
    writer.patch(size, static_cast<std::int32_t>(writer.bytes_since(size)));
    outbox_.push_back(writer.finish());
    auto future = waiting_.emplace_back().future();
    changed_.notify_all();
    return future;
}

Status Broker::skip_header(codec::Reader& reader, kafka::ApiKey api, std::int16_t version) {
    const kafka::ApiInfo& info = *kafka::find_api(static_cast<std::int16_t>(api));
    LKS_TRY(kafka::ResponseHeader::decode(reader, kafka::response_header_version(info, version)));
    return {};
}

rt::Task<Status> Broker::learn_versions() {
    kafka::ApiVersionsRequest request;
    request.client_software_name = client_name;
    request.client_software_version = "1";
    constexpr std::int16_t version = 3;
    codec::Writer body;
    LKS_CO_TRY(request.encode(body, version));
    const auto response = LKS_CO_TRY(decode<kafka::ApiVersionsResponse>(
        co_await send(kafka::ApiKey::api_versions, version, body.finish()),
        kafka::ApiKey::api_versions,
        version
    ));
    LKS_CO_TRY(check_code(response.error_code, "ApiVersions"));
    for (const auto& api : response.api_keys) {
        const auto key = static_cast<std::size_t>(api.api_key);
        if (api.api_key >= 0 && key < version_max_.size()) {
            version_max_[key] = api.max_version;
        }
    }
    co_return Status();
}

rt::Task<void> Broker::write_requests() {
    while (!failed_.has_value()) {
        if (outbox_.empty()) {
            co_await changed_.wait();
            continue;
        }
        Slices all;
        for (; !outbox_.empty(); outbox_.pop_front()) {
            all.append(outbox_.front());
        }
        Status written = co_await stream_->write(std::move(all), no_deadline);
        if (!written.ok()) {
            fail(std::move(written).error());
        }
    }
}

rt::Task<void> Broker::read_responses() {
    while (!failed_.has_value()) {
        Result<Bytes> frame = co_await read_frame();
        if (failed_.has_value()) {
            co_return;
        }
        if (!frame.ok()) {
            fail(std::move(frame).error());
        } else if (waiting_.empty()) {
            fail(corrupt("the broker answered without being asked"));
        } else {
            auto promise = std::move(waiting_.front());
            waiting_.pop_front();
            promise.set(std::move(frame));
        }
    }
}

rt::Task<Result<Bytes>> Broker::read_frame() {
    std::array<std::byte, 4> prefix;
    LKS_CO_TRY(co_await net::read_exactly(*stream_, prefix, no_deadline, "the broker"));
    const auto size = load_be<std::int32_t>(prefix.data());
    if (size < 4 || size > frame_bytes_max) {
        co_return corrupt("the broker sent a frame of {} bytes", size);
    }
    std::vector<std::byte> frame;
    frame.reserve(std::min(static_cast<std::size_t>(size), reserved_bytes_max));
    while (frame.size() < static_cast<std::size_t>(size)) {
        const std::size_t at = frame.size();
        frame.resize(at + std::min(chunk_bytes, static_cast<std::size_t>(size) - at));
        LKS_CO_TRY(co_await net::read_exactly(
            *stream_, std::span(frame).subspan(at), no_deadline, "the broker"
        ));
    }
    co_return Bytes::own(std::move(frame));
}

void Broker::fail(Error error) {
    if (failed_.has_value()) {
        return;
    }
    failed_ = std::move(error);
    stream_->close();
    outbox_.clear();
    for (; !waiting_.empty(); waiting_.pop_front()) {
        waiting_.front().set(*failed_);
    }
    changed_.notify_all();
}

Status check_code(
    kafka::ErrorCode code, std::string_view what, const std::optional<std::string>& message
) {
    if (code == kafka::ErrorCode::none) {
        return {};
    }
    std::string_view why = message.has_value() ? std::string_view(*message) : std::string_view();
    while (why.ends_with('.')) {
        why.remove_suffix(1);
    }
    const std::string text = why.empty()
                                 ? fmt::format("{}: {}", what, kafka::to_string(code))
                                 : fmt::format("{}: {} ({})", what, why, kafka::to_string(code));
    return kafka::is_retriable(code) ? unavailable("{}", text) : invalid_argument("{}", text);
}

}  // namespace lakestream::cli
