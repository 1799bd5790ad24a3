// SPDX-License-Identifier: Apache-2.0
// topic produce: lines of stdin as records, by an idempotent producer with five requests in flight.
//
// One coroutine reads lines and builds requests, at most one batch per partition in each; another
// takes the answers in order. After a failure that may pass, all requests without an answer are
// sent again, in order, on a new connection: their sequence numbers tell the broker what it has.
#include "codec/kafka/gen/produce.h"

#include <deque>
#include <map>

#include "base/format.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/line_input.h"
#include "cli/partitioner.h"
#include "cli/progress.h"
#include "cli/record_text.h"
#include "cli/session.h"
#include "cli/topic_info.h"
#include "codec/batch_builder.h"
#include "codec/kafka/gen/init_producer_id.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;

namespace {

constexpr std::int16_t version_max = 12;          // the last that names topics
constexpr std::size_t in_flight_max = 5;          // as many batches as brokers know again
constexpr std::size_t batch_bytes = 1'000'000;    // below what brokers accept by default
constexpr std::size_t record_overhead_max = 128;  // without headers

codec::NullableBytes as_bytes(const std::optional<std::string>& text) {
    return text.has_value() ? codec::NullableBytes(std::as_bytes(std::span(*text))) : std::nullopt;
}

class Producer {
  public:
    Producer(Session& session, net::Address address, const Produce& options)
        : network_(session.network()),
          address_(std::move(address)),
          options_(options),
          offloader_("stdin", 1, rt::ThreadPriority::normal) {}

    /// Everything, from connecting to the last acknowledgement.
    rt::Task<Status> run() {
        LKS_CO_TRY(offloader_.started());
        Status done = co_await open();
        if (done.ok()) {
            rt::TaskScope scope(co_await rt::this_executor());
            scope.spawn(take_answers());
            done = co_await send_lines();
            ended_ = true;
            changed_.notify_all();
            co_await scope.close();
            done = failed_.ok() ? std::move(done) : failed_;
        }
        if (broker_ != nullptr) {
            co_await broker_->close();
        }
        co_return done;
    }

  private:
    struct InFlight {
        Slices body;
        std::int16_t version;
        std::optional<rt::Future<Result<Bytes>>> answer;
    };

    bool late() const { return broker_->now() >= deadline_; }

    rt::Task<Status> open() {
        for (const std::string& header : options_.headers) {
            headers_.push_back(LKS_CO_TRY(parse_config(header)));
        }
        for (const auto& [name, value] : headers_) {
            record_headers_.push_back({.key = name, .value = std::as_bytes(std::span(value))});
        }
        deadline_ = (co_await rt::this_executor()).now() + patience;
        LKS_CO_TRY(co_await connect());
        LKS_CO_TRY(co_await learn_partitions());
        co_return co_await learn_producer_id();
    }

    rt::Task<Status> learn_producer_id() {
        kafka::InitProducerIdRequest init;
        init.transactional_id = std::nullopt;
        while (true) {
            const auto id = LKS_CO_TRY(co_await broker_->call<kafka::InitProducerIdResponse>(init));
            Status known = check_code(id.error_code, "InitProducerId");
            if (known.ok()) {
                producer_id_ = id.producer_id;
                producer_epoch_ = id.producer_epoch;
                co_return Status();
            }
            if (!known.is(lakestream::ErrorCode::unavailable) || late()) {
                co_return known;
            }
            co_await rt::sleep_until(broker_->now() + 50ms);
        }
    }

    /// Makes the topic if the broker likes.
    rt::Task<Status> learn_partitions() {
        kafka::MetadataRequest request;
        request.topics->emplace_back().name = options_.topic;
        while (true) {
            const auto response =
                LKS_CO_TRY(co_await broker_->call<kafka::MetadataResponse>(request));
            if (response.topics.size() != 1) {
                co_return corrupt("the broker answered with {} topics", response.topics.size());
            }
            const Topic& topic = response.topics.front();
            Status known = check_topic(topic.error_code, std::nullopt, options_.topic);
            if (known.ok() && !topic.partitions.empty()) {
                partitions_ = static_cast<std::int32_t>(topic.partitions.size());
                LKS_CO_TRY(partitions_of(topic, options_.partition));
                co_return Status();
            }
            const bool may_pass = known.ok() || known.is(lakestream::ErrorCode::unavailable) ||
                                  topic.error_code == kafka::ErrorCode::unknown_topic_or_partition;
            if (!may_pass || late() || (!known.ok() && asked_++ > 20)) {
                co_return known;
            }
            co_await rt::sleep_until(broker_->now() + 50ms);
        }
    }

    rt::Task<Status> connect() {
        auto fresh = LKS_CO_TRY(co_await Broker::connect(network_, address_, deadline_));
        std::swap(broker_, fresh);
        if (fresh != nullptr) {
            co_await fresh->close();
        }
        co_return Status();
    }

    rt::Task<Status> send_lines() {
        while (failed_.ok()) {
            const std::string chunk =
                LKS_CO_TRY(co_await rt::offload(offloader_, [this] { return input_.next(); }));
            if (chunk.empty()) {
                break;
            }
            for (std::string_view lines = chunk; !lines.empty();) {
                Status added = add_lines(lines);  // takes them off; stops at a full batch
                co_await send();
                LKS_CO_TRY(std::move(added));
                LKS_CO_TRY(failed_);
            }
        }
        co_return Status();
    }

    /// Until a batch is full.
    Status add_lines(std::string_view& lines) {
        const std::int64_t now = to_ms(broker_->wall_now());
        keyless_ = (keyless_ + 1) % partitions_;
        bool full = false;
        while (!lines.empty() && !full) {
            const std::size_t end = std::min(lines.find('\n'), lines.size());
            const std::string_view line = lines.substr(0, end);
            ++line_number_;
            full = options_.format == RecordFormat::json ? LKS_TRY(add_json(line, now))
                                                         : add_text(line, now);
            lines.remove_prefix(std::min(end + 1, lines.size()));
        }
        return {};
    }

    bool add_text(std::string_view value, std::int64_t now) {
        codec::NullableBytes key = as_bytes(options_.key);
        const std::size_t tab = options_.keyed ? value.find('\t') : std::string_view::npos;
        if (tab != std::string_view::npos) {
            key = std::as_bytes(std::span(value.substr(0, tab)));
            value.remove_prefix(tab + 1);
        }
        return add(
            options_.partition.value_or(key ? partition_of(*key, partitions_) : keyless_),
            now,
            {.key = key, .value = std::as_bytes(std::span(value))},
            record_headers_
        );
    }

    Result<bool> add_json(std::string_view line, std::int64_t now) {
        auto parsed = parse_json_record(line);
        if (!parsed.ok()) {
            return std::move(parsed).error().with_context(fmt::format("line {}", line_number_));
        }
        if (const std::int32_t wanted = parsed->partition.value_or(0);
            wanted < 0 || wanted >= partitions_) {
            return invalid_argument(
                "line {}: {} has no partition {}", line_number_, options_.topic, wanted
            );
        }
        const std::optional<std::string>& key_text = parsed->key ? parsed->key : options_.key;
        const codec::NullableBytes key = as_bytes(key_text);
        std::vector<codec::RecordHeader> headers = record_headers_;
        for (const auto& [name, value] : parsed->headers) {
            headers.push_back({.key = name, .value = as_bytes(value)});
        }
        const std::int32_t by_key = key ? partition_of(*key, partitions_) : keyless_;
        return add(
            options_.partition.value_or(parsed->partition.value_or(by_key)),
            parsed->timestamp.value_or(now),
            {.key = key, .value = as_bytes(parsed->value)},
            headers
        );
    }

    struct KeyValue {
        codec::NullableBytes key;
        codec::NullableBytes value;
    };

    /// Whether the batch is full now.
    bool add(
        std::int32_t partition,
        std::int64_t timestamp,
        const KeyValue& record,
        std::span<const codec::RecordHeader> headers
    ) {
        if (last_batch_ == nullptr || last_partition_ != partition) {
            const codec::BatchOptions fresh{
                .codec = options_.compression,
                .producer_id = producer_id_,
                .producer_epoch = producer_epoch_,
                .base_sequence = next_sequence_[partition],
            };
            last_batch_ = &batches_.try_emplace(partition, fresh).first->second;
            last_partition_ = partition;
        }
        last_batch_->add(timestamp, record.key, record.value, headers);
        // The next record is likely as large as this one.
        const std::size_t next = (record.key ? record.key->size() : 0) +
                                 (record.value ? record.value->size() : 0) + record_overhead_max;
        return last_batch_->size() + next > batch_bytes;
    }

    /// What was added, as one request; waits while there are five.
    rt::Task<void> send() {
        if (batches_.empty()) {
            co_return;
        }
        kafka::ProduceRequest request;
        request.acks = -1;
        request.timeout_ms = 30'000;
        auto& topic = request.topic_data.emplace_back();
        topic.name = options_.topic;
        for (auto& [partition, batch] : batches_) {
            // Sequence numbers go around behind 2^31 - 1.
            next_sequence_[partition] = static_cast<std::int32_t>(
                (std::int64_t{next_sequence_[partition]} + batch.record_count()) & 0x7fff'ffff
            );
            topic.partition_data.push_back({.index = partition, .records = batch.finish()});
        }
        batches_.clear();
        last_batch_ = nullptr;
        while (failed_.ok() && (window_.size() >= in_flight_max || connecting_)) {
            co_await changed_.wait();
        }
        if (!failed_.ok()) {
            co_return;
        }
        const auto version = broker_->version(kafka::ApiKey::produce, version_max);
        codec::Writer body;
        Status encoded = version.ok() ? request.encode(body, *version) : version.error();
        if (!encoded.ok()) {
            fail(std::move(encoded));
            co_return;
        }
        if (window_.empty()) {
            deadline_ = broker_->now() + patience;
        }
        InFlight& added = window_.emplace_back(InFlight{body.finish(), *version, std::nullopt});
        added.answer.emplace(broker_->send(kafka::ApiKey::produce, added.version, added.body));
        changed_.notify_all();
    }

    void fail(Status why) {
        failed_ = std::move(why);
        input_.stop();
        changed_.notify_all();
    }

    rt::Task<void> take_answers() {
        while (failed_.ok()) {
            if (window_.empty()) {
                if (ended_) {
                    co_return;
                }
                co_await changed_.wait();
                continue;
            }
            rt::Future<Result<Bytes>> answer = std::move(*window_.front().answer);
            Status taken = check_answer(co_await std::move(answer), window_.front().version);
            if (taken.ok()) {
                acknowledged_ += window_.front().body.size();
                progress_.show(acknowledged_ >> 20);
                window_.pop_front();
                deadline_ = broker_->now() + patience;
                changed_.notify_all();
            } else if (!taken.is(lakestream::ErrorCode::unavailable) || late()) {
                fail(std::move(taken));
            } else {
                log::warn("cli", "produce_again error={}", taken.error());
                co_await send_again();
            }
        }
    }

    /// A new connection, so that no answer of before is taken for one of now.
    rt::Task<void> send_again() {
        connecting_ = true;
        co_await rt::sleep_until(broker_->now() + 100ms);
        static_cast<void>(co_await connect());  // the answers tell
        for (InFlight& request : window_) {
            request.answer.emplace(
                broker_->send(kafka::ApiKey::produce, request.version, request.body)
            );
        }
        connecting_ = false;
        changed_.notify_all();
    }

    Status check_answer(Result<Bytes> frame, std::int16_t version) const {
        const auto response = LKS_TRY(Broker::decode<kafka::ProduceResponse>(
            std::move(frame), kafka::ApiKey::produce, version
        ));
        for (const auto& topic : response.responses) {
            for (const auto& partition : topic.partition_responses) {
                if (partition.error_code == kafka::ErrorCode::duplicate_sequence_number) {
                    continue;  // it has the batch
                }
                if (partition.error_code == kafka::ErrorCode::message_too_large) {
                    return invalid_argument(
                        "{0} {1}: a line is larger than the topic's max.message.bytes: see "
                        "`lakestream config set --topic {0} max.message.bytes=BYTES`",
                        options_.topic,
                        partition.index
                    );
                }
                LKS_TRY(check_code(
                    partition.error_code,
                    fmt::format("{} {}", options_.topic, partition.index),
                    partition.error_message
                ));
            }
        }
        return {};
    }

    net::Network& network_;
    const net::Address address_;
    const Produce& options_;
    LineInput input_;
    Progress progress_{"MiB acknowledged", 0};
    std::uint64_t acknowledged_ = 0;  // bytes of requests
    rt::ThreadPool offloader_;
    std::unique_ptr<Broker> broker_;
    Deadline deadline_;
    int asked_ = 0;
    std::int32_t partitions_ = 0;
    std::int64_t producer_id_ = -1;
    std::int16_t producer_epoch_ = -1;
    std::vector<NameValue> headers_;
    std::vector<codec::RecordHeader> record_headers_;  // borrow from headers_
    std::uint64_t line_number_ = 0;
    std::int32_t keyless_ = -1;                            // where records without a key go
    std::map<std::int32_t, std::int32_t> next_sequence_;   // by partition
    std::map<std::int32_t, codec::BatchBuilder> batches_;  // of the next request
    codec::BatchBuilder* last_batch_ = nullptr;            // the one of last_partition_
    std::int32_t last_partition_ = -1;
    std::deque<InFlight> window_;  // in the order of their sequence numbers
    bool connecting_ = false;
    bool ended_ = false;  // no more requests will come
    Status failed_;
    rt::Signal changed_;
};

}  // namespace

Status topic_produce(const std::string& bootstrap, const Produce& options) {
    net::Address address = LKS_TRY(net::Address::parse(bootstrap));
    Session session;
    Producer producer(session, std::move(address), options);
    return session.run(producer.run());
}

}  // namespace lakestream::cli
