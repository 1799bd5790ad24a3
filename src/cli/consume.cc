// SPDX-License-Identifier: Apache-2.0
// topic consume: records to stdout, as text or JSON lines; alone, or as a member of a group.
#include <algorithm>
#include <map>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/group_member.h"
#include "cli/record_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/topic_info.h"
#include "codec/kafka/gen/fetch.h"
#include "server/process.h"

namespace lakestream::cli {

namespace kafka = codec::kafka;

namespace {

constexpr std::int16_t version_max = 12;  // the last that names topics
constexpr std::int32_t partition_bytes_min = 1 << 20;
constexpr std::int32_t response_bytes = 4 << 20;  // what is printed is still in the cache
constexpr std::size_t batch_bytes_max = 1 << 30;
constexpr std::size_t print_bytes = 256 << 10;
constexpr std::int32_t wait_ms = 500;
constexpr Duration signals_every = 50ms;
constexpr Duration commit_every = 5s;

struct Span {
    Offset next;   // to be printed
    Offset fetch;  // to be asked for; ahead of `next` while an answer is printed
    Offset end;    // where to stop, unless following
};

/// Batches of one partition, as fetched.
struct Fetched {
    std::int32_t partition;
    Bytes batches;
};

class Consumer {
  public:
    Consumer(Broker& broker, const Consume& options) : broker_(broker), options_(options) {}

    rt::Task<Status> run(net::Network& network) {
        rt::TaskScope scope(broker_.executor());
        scope.spawn(watch_signals(scope.stop()));
        Status done =
            options_.group.has_value() ? co_await run_in_group(network) : co_await run_alone();
        co_await scope.close();
        Status printed = flush();
        if (unread_) {
            co_return unavailable("nobody reads stdout any more");
        }
        if (stopping_) {
            co_return printed;  // what else failed did so because we were told to stop
        }
        LKS_CO_TRY(std::move(done));
        co_return printed;
    }

  private:
    bool full() const { return options_.count.has_value() && printed_ >= *options_.count; }

    /// Whether nothing has to be asked for any more.
    bool fetched_all() const {
        for (const auto& [partition, span] : spans_) {
            if (options_.follow || span.fetch < span.end) {
                return false;
            }
        }
        return true;
    }

    /// The first signal ends the wait for the broker; the next one ends the process. So does the
    /// end of who reads what we print: there may be no record that would tell.
    rt::Task<void> watch_signals(rt::StopSource& stop) {
        while (!co_await stop.sleep_until(broker_.now() + signals_every)) {
            unread_ = is_output_unread();
            if (unread_ || server::signal_came()) {
                stopping_ = true;
                broker_.abort();
                if (joining_ != nullptr) {
                    joining_->abort();  // others may take a minute
                }
                co_return;
            }
        }
    }

    rt::Task<Status> run_alone() {
        const Topic topic = LKS_CO_TRY(co_await load_topic(broker_, options_.topic));
        const auto numbers = LKS_CO_TRY(partitions_of(topic, options_.partition));
        const auto begins =
            LKS_CO_TRY(co_await find_offsets(broker_, options_.topic, numbers, options_.from));
        LKS_CO_TRY(co_await begin_at(numbers, begins));
        co_return co_await fetch_and_print(nullptr);
    }

    rt::Task<Status> run_in_group(net::Network& network) {
        const auto address = LKS_CO_TRY(co_await find_coordinator(broker_, *options_.group));
        const std::string coordinator = address.to_string();
        Status done = co_await with_broker(
            network,
            coordinator,
            [this] [[clang::coro_wrapper]] (Broker & connected) { return run_as_member(connected); }
        );
        if (!member_behind_.empty()) {  // it would hold up the others until its session ends
            static_cast<void>(co_await with_broker(
                network,
                coordinator,
                [this] [[clang::coro_wrapper]] (Broker & connected) {
                    return leave_group(connected, *options_.group, member_behind_);
                }
            ));
        }
        co_return done;
    }

    rt::Task<Status> run_as_member(Broker& coordinator) {
        GroupMember member(coordinator, *options_.group, options_.topic);
        Status done = co_await take_part(coordinator, member);
        if (done.ok() || stopping_) {
            Status printed = flush();
            Status committed = printed.ok() ? co_await commit(member) : std::move(printed);
            done = committed.is(ErrorCode::conflict) ? Status() : std::move(committed);
        }
        member_behind_ = co_await member.close();
        co_return done;
    }

    /// From one assignment to the next.
    rt::Task<Status> take_part(Broker& coordinator, GroupMember& member) {
        const Topic topic = LKS_CO_TRY(co_await load_topic(broker_, options_.topic));
        const auto all = LKS_CO_TRY(partitions_of(topic));
        do {
            joining_ = &coordinator;
            auto joined = co_await member.join(static_cast<std::int32_t>(all.size()));
            joining_ = nullptr;
            const auto mine = LKS_CO_TRY(std::move(joined));
            auto offsets = LKS_CO_TRY(
                co_await load_committed(coordinator, *options_.group, options_.topic, mine)
            );
            const auto begins =
                LKS_CO_TRY(co_await find_offsets(broker_, options_.topic, mine, options_.from));
            for (std::size_t i = 0; i < mine.size(); ++i) {
                offsets[i] = offsets[i] < Offset(0) ? begins[i] : offsets[i];
            }
            LKS_CO_TRY(co_await begin_at(mine, offsets));
            LKS_CO_TRY(co_await fetch_and_print(&member));
            while (options_.follow && spans_.empty() && !member.is_stale() && !stopping_) {
                co_await rt::sleep_until(broker_.now() + signals_every);  // others have them all
            }
            if (member.is_stale()) {
                LKS_CO_TRY(flush());
                const Status committed = co_await commit(member);
                if (!committed.ok() && !committed.is(ErrorCode::conflict)) {
                    co_return committed;
                }
            }
        } while (member.is_stale() && !full() && !stopping_);
        co_return Status();
    }

    rt::Task<Status> begin_at(std::vector<std::int32_t> numbers, std::vector<Offset> begins) {
        const auto ends =
            LKS_CO_TRY(co_await load_offsets(broker_, options_.topic, numbers, end_timestamp));
        spans_.clear();
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            spans_.emplace(numbers[i], Span{.next = begins[i], .fetch = begins[i], .end = ends[i]});
        }
        co_return Status();
    }

    /// Until the end, the count, a signal, or a new assignment. While an answer is printed, the
    /// next one is on its way.
    rt::Task<Status> fetch_and_print(GroupMember* member) {
        const auto version = LKS_CO_TRY(broker_.version(kafka::ApiKey::fetch, version_max));
        MonoTime committed = broker_.now();
        std::vector<Fetched> fetched;
        while (!full() && (!fetched.empty() || !fetched_all())) {
            std::optional<rt::Future<Result<Bytes>>> answer;
            if (!fetched_all()) {
                answer.emplace(LKS_CO_TRY(ask(version)));
                co_await rt::yield();  // lets it go out
            }
            LKS_CO_TRY(print(std::exchange(fetched, {})));
            if (full() || !answer.has_value()) {
                break;
            }
            fetched = LKS_CO_TRY(take(co_await std::move(*answer), version));
            if (member != nullptr && member->is_stale()) {
                co_return print(fetched);
            }
            if (member != nullptr && broker_.now() >= committed + commit_every) {
                LKS_CO_TRY(flush());
                LKS_CO_TRY(co_await commit_now(*member));
                committed = broker_.now();
            }
        }
        co_return Status();
    }

    rt::Task<Status> commit_now(GroupMember& member) {
        Status done = co_await commit(member);
        co_return done.is(ErrorCode::conflict) ? Status() : done;  // the member knows
    }

    rt::Task<Status> commit(GroupMember& member) {
        std::map<std::int32_t, Offset> next;
        for (const auto& [partition, span] : spans_) {
            next.emplace(partition, span.next);
        }
        co_return co_await member.commit(std::move(next));
    }

    Result<rt::Future<Result<Bytes>>> ask(std::int16_t version) {
        kafka::FetchRequest request;
        request.max_wait_ms = wait_ms;
        request.min_bytes = 1;
        request.max_bytes = response_bytes;
        auto& topic = request.topics.emplace_back();
        topic.topic = options_.topic;
        const auto each = response_bytes / static_cast<std::int32_t>(spans_.size());
        for (const auto& [partition, span] : spans_) {
            if (options_.follow || span.fetch < span.end) {
                topic.partitions.push_back({
                    .partition = partition,
                    .fetch_offset = span.fetch.v,
                    .partition_max_bytes = std::max(partition_bytes_min, each),
                });
            }
        }
        // A broker fills its answer in the order asked: each partition is the first at times.
        auto& asked = topic.partitions;
        const auto first = static_cast<std::ptrdiff_t>(rounds_++ % asked.size());
        std::rotate(asked.begin(), asked.begin() + first, asked.end());
        codec::Writer body;
        LKS_TRY(request.encode(body, version));
        return broker_.send(kafka::ApiKey::fetch, version, body.finish());
    }

    Result<std::vector<Fetched>> take(Result<Bytes> frame, std::int16_t version) {
        auto response = LKS_TRY(
            Broker::decode<kafka::FetchResponse>(std::move(frame), kafka::ApiKey::fetch, version)
        );
        LKS_TRY(check_code(response.error_code, options_.topic));
        std::vector<Fetched> fetched;
        for (auto& topic : response.responses) {
            for (auto& data : topic.partitions) {
                if (data.error_code == kafka::ErrorCode::offset_out_of_range) {
                    return out_of_range(
                        "{0} {1} does not hold offset {2}: see `lakestream topic describe {0}`",
                        options_.topic,
                        data.partition_index,
                        spans_.contains(data.partition_index)
                            ? spans_.at(data.partition_index).fetch
                            : Offset(-1)
                    );
                }
                LKS_TRY(check_code(
                    data.error_code, fmt::format("{} {}", options_.topic, data.partition_index)
                ));
                const auto span = spans_.find(data.partition_index);
                if (span == spans_.end()) {
                    return corrupt("the broker answered about partition {}", data.partition_index);
                }
                Bytes records = data.records.value_or(Slices()).join();
                LKS_TRY(advance(records, span->second));
                if (!records.empty()) {
                    fetched.push_back({.partition = data.partition_index, .batches = records});
                }
            }
        }
        return fetched;
    }

    /// Moves `fetch` behind the whole batches, and cuts off what is behind them.
    static Status advance(Bytes& records, Span& span) {
        std::size_t whole = 0;
        while (records.size() - whole >= codec::batch_header_bytes) {
            const auto header = codec::read_batch_header(records.span().subspan(whole));
            if (!header.ok() &&
                header.error().reason == static_cast<std::uint16_t>(codec::BatchFault::cut_short)) {
                break;  // Kafka cuts the last batch to the limit
            }
            LKS_TRY(header);
            span.fetch = std::max(span.fetch, header->last_offset() + 1);
            whole += header->size();
        }
        records = records.slice(0, whole);
        return {};
    }

    Status print(const std::vector<Fetched>& fetched) {
        for (const Fetched& part : fetched) {
            Span& span = spans_.at(part.partition);
            for (Bytes left = part.batches; !left.empty() && !full();) {
                const auto header = LKS_TRY(codec::read_batch_header(left.span()));
                LKS_TRY(codec::check_batch_crc(header, left.span()));
                const Bytes batch = left.slice(0, header.size());
                if (header.record_count > 0 && !header.is_control()) {
                    LKS_TRY(print_batch(part.partition, batch, span));
                }
                if (!full()) {
                    span.next = std::max(span.next, header.last_offset() + 1);
                }
                left = left.slice(batch.size(), left.size() - batch.size());
            }
        }
        return flush();
    }

    Status print_batch(std::int32_t partition, const Bytes& batch, Span& span) {
        auto reader = LKS_TRY(codec::RecordReader::open(batch, batch_bytes_max));
        const bool json = options_.format == RecordFormat::json;
        while (!full() && (json ? reader.next(record_) : reader.next_without_headers(record_))) {
            const Offset offset = reader.header().base_offset + record_.offset_delta;
            if (offset < span.next || (!options_.follow && offset >= span.end)) {
                continue;
            }
            if (json) {
                const RecordPlace place{
                    .topic = options_.topic, .partition = partition, .offset = offset
                };
                append_json(out_, place, record_);
            } else {
                append_text(out_, record_, options_.keyed);
            }
            ++printed_;
            span.next = offset + 1;
            if (out_.size() >= print_bytes) {
                LKS_TRY(put_text(out_));
                out_.clear();
            }
        }
        return reader.status();
    }

    Status flush() {
        LKS_TRY(put_text(out_));
        out_.clear();
        return flush_lines();
    }

    Broker& broker_;
    const Consume& options_;
    std::map<std::int32_t, Span> spans_;  // by partition
    std::uint64_t printed_ = 0;
    std::uint64_t rounds_ = 0;
    codec::Record record_;
    std::string out_;  // printed, not yet written
    bool stopping_ = false;
    bool unread_ = false;
    Broker* joining_ = nullptr;  // while a group comes to rest
    std::string member_behind_;  // that could not leave by its own connection
};

rt::Task<Status> consume_from(net::Network& network, Broker& broker, const Consume& options) {
    Consumer consumer(broker, options);
    co_return co_await consumer.run(network);
}

}  // namespace

Status topic_consume(const std::string& bootstrap, const Consume& options) {
    server::hold_signals();
    Session session;
    return session.run(with_broker(
        session.network(),
        bootstrap,
        [&] [[clang::coro_wrapper]] (Broker & broker) {
            return consume_from(session.network(), broker, options);
        }
    ));
}

}  // namespace lakestream::cli
