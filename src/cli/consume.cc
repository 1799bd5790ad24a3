// SPDX-License-Identifier: Apache-2.0
// topic consume: records to stdout, as text or JSON lines.
#include <charconv>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/topic_info.h"
#include "codec/kafka/gen/fetch.h"
#include "codec/record_reader.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;
using nlohmann::json;

namespace {

constexpr std::int16_t version_max = 12;  // the last that names topics
constexpr std::int32_t partition_bytes = 1 << 20;
constexpr std::int32_t response_bytes = 16 << 20;
constexpr std::size_t batch_bytes_max = 1 << 30;
constexpr std::int32_t wait_ms = 500;

struct Span {
    Offset next;
    Offset end;  // where to stop, unless following
};

class Consumer {
  public:
    Consumer(Broker& broker, const Consume& options) : broker_(broker), options_(options) {}

    rt::Task<Status> run() {
        LKS_CO_TRY(co_await find_spans());
        while (!done()) {
            auto response =
                LKS_CO_TRY(co_await broker_.call<kafka::FetchResponse>(request(), version_max));
            LKS_CO_TRY(check_code(response.error_code, options_.topic));
            for (const auto& topic : response.responses) {
                for (const auto& partition : topic.partitions) {
                    LKS_CO_TRY(take(partition));
                }
            }
            if (std::fflush(stdout) != 0) {
                co_return unavailable("cannot write to stdout");
            }
        }
        co_return Status();
    }

  private:
    bool full() const { return options_.count.has_value() && printed_ >= *options_.count; }

    bool done() const {
        if (full()) {
            return true;
        }
        for (const auto& [partition, span] : spans_) {
            if (options_.follow || span.next < span.end) {
                return false;
            }
        }
        return true;
    }

    rt::Task<Status> find_spans() {
        const auto topic = LKS_CO_TRY(co_await load_topic(broker_, options_.topic));
        std::vector<std::int32_t> numbers;
        for (const auto& partition : topic.partitions) {
            if (!options_.partition || *options_.partition == partition.partition_index) {
                numbers.push_back(partition.partition_index);
            }
        }
        if (numbers.empty()) {
            co_return invalid_argument("{} has no such partition", options_.topic);
        }
        const auto begins = LKS_CO_TRY(co_await find_begins(numbers));
        const auto ends =
            LKS_CO_TRY(co_await load_offsets(broker_, options_.topic, numbers, end_timestamp));
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            spans_.emplace(numbers[i], Span{.next = begins[i], .end = ends[i]});
        }
        co_return Status();
    }

    rt::Task<Result<std::vector<Offset>>> find_begins(std::vector<std::int32_t> numbers) {
        const std::string_view from = options_.from;
        std::int64_t timestamp = begin_timestamp;
        if (from == "end") {
            timestamp = end_timestamp;
        } else if (from.starts_with('@')) {
            timestamp = LKS_CO_TRY(parse_timestamp(from.substr(1)));
        } else if (from != "beginning") {
            co_return std::vector<Offset>(numbers.size(), Offset(LKS_CO_TRY(parse_integer(from))));
        }
        co_return co_await load_offsets(broker_, options_.topic, std::move(numbers), timestamp);
    }

    kafka::FetchRequest request() const {
        kafka::FetchRequest request;
        request.max_wait_ms = wait_ms;
        request.min_bytes = 1;
        request.max_bytes = response_bytes;
        auto& topic = request.topics.emplace_back();
        topic.topic = options_.topic;
        for (const auto& [partition, span] : spans_) {
            if (options_.follow || span.next < span.end) {
                topic.partitions.push_back({
                    .partition = partition,
                    .fetch_offset = span.next.v,
                    .partition_max_bytes = partition_bytes,
                });
            }
        }
        return request;
    }

    Status take(const kafka::FetchResponse::PartitionData& data) {
        const std::string what = fmt::format("{} {}", options_.topic, data.partition_index);
        LKS_TRY(check_code(data.error_code, what));
        Span& span = spans_.at(data.partition_index);
        Bytes records = data.records.value_or(Slices()).join();
        while (records.size() >= codec::batch_header_bytes) {
            auto header = codec::read_batch_header(records.span());
            if (!header.ok() &&
                header.error().reason == static_cast<std::uint16_t>(codec::BatchFault::cut_short)) {
                break;  // Kafka cuts the last batch to the limit
            }
            LKS_TRY(header);
            LKS_TRY(codec::check_batch_crc(*header, records.span()));
            const Bytes batch = records.slice(0, header->size());
            if (header->record_count > 0) {
                LKS_TRY(print_batch(data.partition_index, batch, span));
            }
            span.next = std::max(span.next, header->last_offset() + 1);
            records = records.slice(batch.size(), records.size() - batch.size());
        }
        return {};
    }

    Status print_batch(std::int32_t partition, const Bytes& batch, const Span& span) {
        auto reader = LKS_TRY(codec::RecordReader::open(batch, batch_bytes_max));
        for (codec::Record record; !full() && reader.next(record);) {
            const Offset offset = reader.header().base_offset + record.offset_delta;
            if (offset < span.next || (!options_.follow && offset >= span.end)) {
                continue;
            }
            LKS_TRY(print(partition, offset, record));
            ++printed_;
        }
        return reader.status();
    }

    Status print(std::int32_t partition, Offset offset, const codec::Record& record) const {
        const auto view = [](const codec::NullableBytes& bytes) {
            return bytes.has_value()
                       ? std::string_view(
                             reinterpret_cast<const char*>(bytes->data()), bytes->size()
                         )
                       : std::string_view();
        };
        if (options_.format == RecordFormat::text) {
            std::string line(view(record.value));
            if (options_.keyed) {
                line.insert(0, fmt::format("{}	", view(record.key)));
            }
            return put_line(line);
        }
        json line = {
            {"topic", options_.topic},
            {"partition", partition},
            {"offset", offset.v},
            {"timestamp", record.timestamp},
        };
        put_bytes(line, "key", record.key);
        put_bytes(line, "value", record.value);
        if (!record.headers.empty()) {
            json& headers = line["headers"] = json::array();
            for (const codec::RecordHeader& header : record.headers) {
                json& one = headers.emplace_back(json::object());
                put_bytes(one, "key", std::as_bytes(std::span(header.key)));
                put_bytes(one, "value", header.value);
            }
        }
        return put_line(line.dump());
    }

    Broker& broker_;
    const Consume& options_;
    std::map<std::int32_t, Span> spans_;
    std::uint64_t printed_ = 0;
};

struct Command {
    const Consume& options;

    rt::Task<Status> operator()(Broker& broker) {
        Consumer consumer(broker, options);
        co_return co_await consumer.run();
    }
};

}  // namespace

Status topic_consume(const std::string& bootstrap, const Consume& options) {
    Session session;
    return session.run(with_broker(session.network(), bootstrap, Command{options}));
}

}  // namespace lakestream::cli
