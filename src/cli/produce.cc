// SPDX-License-Identifier: Apache-2.0
// topic produce: lines of stdin as records, by an idempotent producer.
#include "codec/kafka/gen/produce.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/format.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/partitioner.h"
#include "cli/session.h"
#include "cli/topic_info.h"
#include "codec/batch_builder.h"
#include "codec/kafka/gen/init_producer_id.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;

namespace {

constexpr std::size_t chunk_bytes = 256 << 10;
constexpr std::int16_t version_max = 12;  // the last that names topics

codec::NullableBytes as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

/// One producer id; sends batches of one chunk at a time and repeats what was not acknowledged.
class Producer {
  public:
    Producer(net::Network& network, net::Address address, const Produce& options)
        : network_(network), address_(std::move(address)), options_(options) {}

    rt::Task<Status> open() {
        deadline_ = (co_await rt::this_executor()).now() + patience;
        LKS_CO_TRY(co_await connect());
        kafka::MetadataRequest request;  // makes the topic if the broker likes
        request.topics->emplace_back().name = options_.topic;
        while (partitions_ == 0) {
            const auto response =
                LKS_CO_TRY(co_await broker_->call<kafka::MetadataResponse>(request));
            Status known = check_code(response.topics.at(0).error_code, options_.topic);
            if (!known.ok() && (!known.is(lakestream::ErrorCode::unavailable) || late())) {
                co_return std::move(known).error();
            }
            partitions_ = static_cast<std::int32_t>(response.topics.at(0).partitions.size());
            if (partitions_ == 0) {
                co_await rt::sleep_until(broker_->now() + 50ms);
            }
        }
        if (options_.partition.value_or(0) < 0 || options_.partition.value_or(0) >= partitions_) {
            co_return invalid_argument(
                "{} has no partition {}: its partitions are 0 to {}",
                options_.topic,
                *options_.partition,
                partitions_ - 1
            );
        }
        kafka::InitProducerIdRequest init;
        init.transactional_id = std::nullopt;
        const auto id =
            LKS_CO_TRY(co_await broker_->call<kafka::InitProducerIdResponse>(std::move(init)));
        LKS_CO_TRY(check_code(id.error_code, "InitProducerId"));
        producer_id_ = id.producer_id;
        producer_epoch_ = id.producer_epoch;
        co_return Status();
    }

    rt::Task<Status> send(std::string lines) {
        deadline_ = broker_->now() + patience;
        kafka::ProduceRequest request = build(lines);
        while (true) {
            Status sent = co_await attempt(request);
            if (sent.ok()) {
                break;
            }
            if (!sent.is(lakestream::ErrorCode::unavailable) || late()) {
                co_return sent;
            }
            log::warn("cli", "produce_again error={}", sent.error());
            co_await rt::sleep_until(broker_->now() + 100ms);
            static_cast<void>(co_await connect());  // the next attempt tells
        }
        co_return Status();
    }

    rt::Task<Status> close() {
        if (broker_ != nullptr) {
            co_await broker_->close();
        }
        co_return Status();
    }

  private:
    bool late() const { return broker_->now() >= deadline_; }

    rt::Task<Status> connect() {
        auto fresh = LKS_CO_TRY(co_await Broker::connect(network_, address_, deadline_));
        std::swap(broker_, fresh);
        if (fresh != nullptr) {
            co_await fresh->close();
        }
        co_return Status();
    }

    kafka::ProduceRequest build(std::string_view lines) {
        std::map<std::int32_t, codec::BatchBuilder> batches;
        const std::int64_t timestamp = to_ms(broker_->wall_now());
        const std::int32_t keyless = keyless_++ % partitions_;
        while (!lines.empty()) {
            const std::size_t end = std::min(lines.find('\n'), lines.size());
            std::string_view value = lines.substr(0, end);
            lines.remove_prefix(std::min(end + 1, lines.size()));
            codec::NullableBytes key;
            std::int32_t partition = keyless;
            const std::size_t tab = value.find('\t');
            if (options_.keyed && tab != std::string_view::npos) {
                key = as_bytes(value.substr(0, tab));
                value.remove_prefix(tab + 1);
                partition = partition_of(*key, partitions_);
            }
            builder(batches, options_.partition.value_or(partition))
                .add(timestamp, key, as_bytes(value));
        }
        kafka::ProduceRequest request;
        request.acks = -1;
        request.timeout_ms = 30'000;
        auto& topic = request.topic_data.emplace_back();
        topic.name = options_.topic;
        for (auto& [partition, batch] : batches) {
            next_sequence_[partition] += batch.record_count();
            topic.partition_data.push_back({.index = partition, .records = batch.finish()});
        }
        return request;
    }

    codec::BatchBuilder& builder(
        std::map<std::int32_t, codec::BatchBuilder>& batches, std::int32_t partition
    ) {
        const codec::BatchOptions fresh{
            .producer_id = producer_id_,
            .producer_epoch = producer_epoch_,
            .base_sequence = next_sequence_[partition],
        };
        return batches.try_emplace(partition, fresh).first->second;
    }

    rt::Task<Status> attempt(const kafka::ProduceRequest& request) {
        const auto response = LKS_CO_TRY(co_await broker_->call<kafka::ProduceResponse>(
            kafka::ProduceRequest(request), version_max
        ));
        for (const auto& topic : response.responses) {
            for (const auto& partition : topic.partition_responses) {
                LKS_CO_TRY(check_code(
                    partition.error_code, fmt::format("{} {}", options_.topic, partition.index)
                ));
            }
        }
        co_return Status();
    }

    net::Network& network_;
    net::Address address_;
    const Produce& options_;
    std::unique_ptr<Broker> broker_;
    Deadline deadline_;
    std::int32_t partitions_ = 0;
    std::int64_t producer_id_ = -1;
    std::int16_t producer_epoch_ = -1;
    std::int32_t keyless_ = 0;
    std::map<std::int32_t, std::int32_t> next_sequence_;  // by partition
};

/// Whole lines of stdin, as many as have arrived. Empty at the end.
class LineInput {
  public:
    Result<std::string> next() {
        while (!ended_) {
            const std::size_t last = pending_.rfind('\n');
            if (last != std::string::npos) {
                std::string lines = pending_.substr(0, last + 1);
                pending_.erase(0, last + 1);
                return lines;
            }
            const ssize_t count = ::read(STDIN_FILENO, buffer_.data(), buffer_.size());
            if (count < 0 && errno != EINTR) {
                return unavailable("cannot read stdin: {}", std::strerror(errno));
            }
            ended_ = count == 0;
            pending_.append(buffer_.data(), static_cast<std::size_t>(std::max(count, ssize_t{0})));
        }
        return std::exchange(pending_, {});
    }

  private:
    std::array<char, chunk_bytes> buffer_;
    std::string pending_;
    bool ended_ = false;
};

Status produce_lines(Session& session, Producer& producer) {
    LKS_TRY(session.run(producer.open()));
    const auto input = std::make_unique<LineInput>();
    while (true) {
        std::string lines = LKS_TRY(input->next());
        if (lines.empty()) {
            return {};
        }
        LKS_TRY(session.run(producer.send(std::move(lines))));
    }
}

}  // namespace

Status topic_produce(const std::string& bootstrap, const Produce& options) {
    Session session;
    Producer producer(session.network(), LKS_TRY(net::Address::parse(bootstrap)), options);
    Status done = produce_lines(session, producer);
    LKS_TRY(session.run(producer.close()));
    return done;
}

}  // namespace lakestream::cli
