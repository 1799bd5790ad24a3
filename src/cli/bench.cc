// SPDX-License-Identifier: Apache-2.0
// bench: loads a running broker and says what it cost. Not timed by tests: a tool for people.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/endian.h"
#include "base/format.h"
#include "cli/commands.h"
#include "cli/proc.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/topic_info.h"
#include "codec/batch_builder.h"
#include "codec/crc32c.h"
#include "codec/kafka/gen/create_topics.h"
#include "codec/kafka/gen/fetch.h"
#include "codec/kafka/gen/init_producer_id.h"
#include "codec/kafka/gen/produce.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;
using nlohmann::json;

namespace {

constexpr std::int16_t version_max = 12;  // the last that names topics
constexpr double gib = 1 << 30;
constexpr double mib = 1 << 20;

/// What all connections share; one executor, so plain fields do.
struct Run {
    const Bench& options;
    std::int32_t partitions = 0;
    MonoTime begin;
    MonoTime end;
    std::uint32_t loops_begun = 0;
    std::uint64_t bytes_begun = 0;  // asked for by producers, or got by consumers
    std::uint64_t bytes = 0;
    std::uint64_t records = 0;
    std::uint64_t requests = 0;
    std::vector<double> latencies_ms;
    Status failed;
    Progress progress{"MiB", 0};

    bool over(MonoTime now) const {
        return !failed.ok() || now >= begin + options.duration ||
               (options.bytes != 0 && bytes_begun >= options.bytes);
    }
};

/// A batch made once; each copy gets its place in the producer's sequence.
class BatchTemplate {
  public:
    BatchTemplate(const Bench& options, rt::Executor& executor) {
        codec::BatchBuilder builder({.producer_id = 0, .producer_epoch = 0, .base_sequence = 0});
        const std::int64_t now = to_ms(executor.clock().wall_now());
        std::vector<std::byte> value(options.record_bytes);
        do {
            for (std::byte& b : value) {
                b = static_cast<std::byte>(executor.rng().next());
            }
            builder.add(now, std::nullopt, value);
        } while (builder.size() + options.record_bytes + 16 <= options.batch_bytes);
        records_ = builder.record_count();
        bytes_ = builder.finish();
    }

    std::int32_t records() const { return records_; }
    std::size_t size() const { return bytes_.size(); }

    Bytes make(std::int64_t producer, std::int32_t sequence) const {
        constexpr std::size_t crc_at = 17;
        constexpr std::size_t crc_begin = 21;
        constexpr std::size_t producer_at = 43;
        constexpr std::size_t sequence_at = 53;
        std::vector<std::byte> copy(bytes_.begin(), bytes_.end());
        store_be(copy.data() + producer_at, producer);
        store_be(copy.data() + sequence_at, sequence);
        store_be(copy.data() + crc_at, codec::crc32c(std::span(copy).subspan(crc_begin)));
        return Bytes::own(std::move(copy));
    }

  private:
    Bytes bytes_;
    std::int32_t records_ = 0;
};

/// One connection that appends, its partitions one after the other.
class ProducingConnection {
  public:
    ProducingConnection(Run& run, Broker& broker)
        : run_(run), broker_(broker), batch_(run.options, broker.executor()) {}

    rt::Task<Status> open() {
        kafka::InitProducerIdRequest init;
        init.transactional_id = std::nullopt;
        const auto id =
            LKS_CO_TRY(co_await broker_.call<kafka::InitProducerIdResponse>(std::move(init)));
        LKS_CO_TRY(check_code(id.error_code, "InitProducerId"));
        producer_ = id.producer_id;
        sequences_.resize(static_cast<std::size_t>(run_.partitions));
        co_return Status();
    }

    /// One of the requests in flight.
    rt::Task<void> loop() {
        while (!run_.over(broker_.now())) {
            const std::uint64_t mine = run_.bytes_begun;
            run_.bytes_begun += batch_.size();
            if (run_.options.rate > 0) {
                const double seconds = static_cast<double>(mine) / (run_.options.rate * 1e6);
                co_await rt::sleep_until(
                    run_.begin + Duration(static_cast<std::int64_t>(seconds * 1e9))
                );
            }
            Status done = co_await produce();
            if (!done.ok() && run_.failed.ok()) {
                run_.failed = std::move(done);
            }
        }
    }

  private:
    rt::Task<Status> produce() {
        const std::size_t partition = next_++ % sequences_.size();
        std::int32_t& sequence = sequences_[partition];
        kafka::ProduceRequest request;
        request.acks = -1;
        request.timeout_ms = 30'000;
        auto& topic = request.topic_data.emplace_back();
        topic.name = run_.options.topic;
        topic.partition_data.push_back({
            .index = static_cast<std::int32_t>(partition),
            .records = batch_.make(producer_, sequence),
        });
        sequence += batch_.records();
        const MonoTime sent = broker_.now();
        const auto response = LKS_CO_TRY(
            co_await broker_.call<kafka::ProduceResponse>(std::move(request), version_max)
        );
        LKS_CO_TRY(check_code(
            response.responses.at(0).partition_responses.at(0).error_code, run_.options.topic
        ));
        const MonoTime now = broker_.now();
        run_.latencies_ms.push_back(std::chrono::duration<double, std::milli>(now - sent).count());
        run_.bytes += batch_.size();
        run_.progress.show(run_.bytes >> 20);
        run_.records += static_cast<std::uint64_t>(batch_.records());
        ++run_.requests;
        run_.end = now;
        co_return Status();
    }

    Run& run_;
    Broker& broker_;
    BatchTemplate batch_;
    std::int64_t producer_ = -1;
    std::vector<std::int32_t> sequences_;  // by partition
    std::size_t next_ = 0;
};

/// One connection that reads; each of its loops has partitions of its own and begins anew at their
/// ends.
class FetchingConnection {
  public:
    FetchingConnection(Run& run, Broker& broker) : run_(run), broker_(broker) {}

    rt::Task<Status> open() { co_return Status(); }

    rt::Task<void> loop() {
        std::vector<std::int32_t> mine;
        const auto loops = run_.options.connections * run_.options.in_flight;
        const std::uint32_t number = run_.loops_begun++;
        for (std::int32_t i = 0; i < run_.partitions; ++i) {
            if (static_cast<std::uint32_t>(i) % loops == number) {
                mine.push_back(i);
            }
        }
        std::map<std::int32_t, std::int64_t> positions;
        while (!mine.empty() && !run_.over(broker_.now())) {
            Status done = co_await fetch(mine, positions);
            if (!done.ok() && run_.failed.ok()) {
                run_.failed = std::move(done);
            }
        }
    }

  private:
    rt::Task<Status> fetch(
        std::vector<std::int32_t> partitions, std::map<std::int32_t, std::int64_t>& positions
    ) {
        kafka::FetchRequest request;
        request.max_wait_ms = 500;
        request.min_bytes = 1;
        auto& topic = request.topics.emplace_back();
        topic.topic = run_.options.topic;
        for (const std::int32_t partition : partitions) {
            topic.partitions.push_back({
                .partition = partition,
                .fetch_offset = positions[partition],
                .partition_max_bytes = static_cast<std::int32_t>(run_.options.fetch_bytes),
            });
        }
        const MonoTime sent = broker_.now();
        const auto response =
            LKS_CO_TRY(co_await broker_.call<kafka::FetchResponse>(std::move(request), version_max)
            );
        LKS_CO_TRY(check_code(response.error_code, run_.options.topic));
        const MonoTime now = broker_.now();
        run_.latencies_ms.push_back(std::chrono::duration<double, std::milli>(now - sent).count());
        ++run_.requests;
        run_.end = now;
        for (const auto& answer : response.responses) {
            for (const auto& partition : answer.partitions) {
                LKS_CO_TRY(take(partition, positions[partition.partition_index]));
            }
        }
        co_return Status();
    }

    Status take(const kafka::FetchResponse::PartitionData& data, std::int64_t& position) {
        LKS_TRY(check_code(data.error_code, run_.options.topic));
        Bytes left = data.records.value_or(Slices()).join();
        run_.bytes += left.size();
        run_.progress.show(run_.bytes >> 20);
        run_.bytes_begun += left.size();
        while (left.size() >= codec::batch_header_bytes) {
            const auto header = LKS_TRY(codec::read_batch_header(left.span()));
            run_.records += static_cast<std::uint64_t>(header.record_count);
            position = header.last_offset().v + 1;
            left = left.slice(header.size(), left.size() - header.size());
        }
        if (position >= data.high_watermark) {
            position = 0;
        }
        return {};
    }

    Run& run_;
    Broker& broker_;
};

/// Makes the topic when it is missing.
rt::Task<Status> prepare(Run& run, Broker& broker) {
    auto topic = co_await load_topic(broker, run.options.topic);
    if (!topic.ok() && run.options.operation == BenchOperation::produce) {
        kafka::CreateTopicsRequest request;
        auto& created = request.topics.emplace_back();
        created.name = run.options.topic;
        created.num_partitions = run.options.partitions;
        created.replication_factor = -1;
        const auto response =
            LKS_CO_TRY(co_await broker.call<kafka::CreateTopicsResponse>(std::move(request)));
        LKS_CO_TRY(check_code(response.topics.at(0).error_code, run.options.topic));
        topic = co_await load_topic(broker, run.options.topic);
    }
    const auto found = LKS_CO_TRY(std::move(topic));
    run.partitions = static_cast<std::int32_t>(found.partitions.size());
    co_return Status();
}

template <class Connection>
rt::Task<Status> load(Run& run, std::vector<std::unique_ptr<Broker>>& brokers) {
    LKS_CO_TRY(co_await prepare(run, *brokers.front()));
    std::vector<std::unique_ptr<Connection>> connections;
    for (const auto& broker : brokers) {
        connections.push_back(std::make_unique<Connection>(run, *broker));
        LKS_CO_TRY(co_await connections.back()->open());
    }
    run.begin = run.end = brokers.front()->now();
    rt::TaskScope loops(co_await rt::this_executor());
    for (const auto& connection : connections) {
        for (std::uint32_t i = 0; i < run.options.in_flight; ++i) {
            loops.spawn(connection->loop());
        }
    }
    co_await loops.close();
    co_return run.failed;
}

rt::Task<Status> run_load(Run& run, net::Network& network, net::Address address) {
    const Deadline deadline = (co_await rt::this_executor()).now() + patience;
    std::vector<std::unique_ptr<Broker>> brokers;
    Status done;
    while (done.ok() && brokers.size() < run.options.connections) {
        auto broker = co_await Broker::connect(network, address, deadline);
        if (broker.ok()) {
            brokers.push_back(std::move(*broker));
        } else {
            done = std::move(broker).error();
        }
    }
    if (done.ok()) {
        done = run.options.operation == BenchOperation::produce
                   ? co_await load<ProducingConnection>(run, brokers)
                   : co_await load<FetchingConnection>(run, brokers);
    }
    for (const auto& broker : brokers) {
        co_await broker->close();
    }
    co_return done;
}

double percentile(const std::vector<double>& sorted, double part) {
    if (sorted.empty()) {
        return 0;
    }
    const auto at = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
    return sorted[std::min(at, sorted.size() - 1)];
}

json report(Run& run, const std::optional<ProcessUsage>& before, const ProcessUsage& after) {
    std::ranges::sort(run.latencies_ms);
    const double seconds = std::chrono::duration<double>(run.end - run.begin).count();
    const auto bytes = static_cast<double>(run.bytes);
    json out = {
        {"operation", run.options.operation == BenchOperation::produce ? "produce" : "fetch"},
        {"bytes", run.bytes},
        {"records", run.records},
        {"requests", run.requests},
        {"seconds", seconds},
        {"mb_per_second", seconds > 0 ? bytes / 1e6 / seconds : 0},
        {"latency_ms",
         {{"p50", percentile(run.latencies_ms, 0.5)},
          {"p99", percentile(run.latencies_ms, 0.99)},
          {"max", percentile(run.latencies_ms, 1)}}},
    };
    if (before.has_value()) {
        const double cpu = after.cpu_seconds - before->cpu_seconds;
        out["server"] = {
            {"cpu_seconds", cpu},
            {"cpu_seconds_per_gib", bytes > 0 ? cpu * gib / bytes : 0},
            {"rss_mib", static_cast<double>(after.rss_bytes) / mib},
            {"peak_rss_mib", static_cast<double>(after.peak_bytes) / mib},
        };
    }
    return out;
}

}  // namespace

Status bench(const std::string& bootstrap, const Bench& options) {
    net::Address address = LKS_TRY(net::Address::parse(bootstrap));
    std::optional<ProcessUsage> before;
    ProcessUsage after;
    if (options.server_pid.has_value()) {
        before = LKS_TRY(process_usage(*options.server_pid));
    }
    Run run{.options = options};
    Session session;
    LKS_TRY(session.run(run_load(run, session.network(), std::move(address))));
    if (options.server_pid.has_value()) {
        after = LKS_TRY(process_usage(*options.server_pid));
    }
    const json result = report(run, before, after);
    if (options.json) {
        return put_line(result.dump());
    }
    for (const auto& [name, value] : result.flatten().items()) {
        LKS_TRY(put_line(fmt::format("{} {}", name.substr(1), value.dump())));
    }
    return {};
}

}  // namespace lakestream::cli
