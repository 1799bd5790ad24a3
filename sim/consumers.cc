// SPDX-License-Identifier: Apache-2.0
// Fetching, and what a fetch may say.
#include "sim/consumers.h"

#include <algorithm>

#include "base/format.h"
#include "sim/trimmer.h"

namespace lakestream::sim {

namespace {

using kafka_api::ErrorCode;

constexpr std::int16_t first_version_with_sessions = 7;
constexpr std::int16_t first_version_with_ids = 13;

// Not retriable for Kafka's clients, but here the damage is on the way and passes.
bool passes(ErrorCode code) {
    return is_transient(code) || code == ErrorCode::corrupt_message;
}

void ask(
    kafka_api::FetchRequest& request,
    const Partition& partition,
    kafka_api::Uuid topic_id,
    Offset from,
    std::int32_t bytes_max
) {
    if (request.topics.empty() || request.topics.back().topic != partition.topic) {
        request.topics.push_back({.topic = partition.topic, .topic_id = topic_id, .partitions = {}}
        );
    }
    request.topics.back().partitions.push_back({
        .partition = partition.number,
        .fetch_offset = from.v,
        .partition_max_bytes = bytes_max,
    });
}

}  // namespace

kafka_api::FetchRequest fetch_request(
    const Partition& partition, kafka_api::Uuid topic_id, Offset from, std::int32_t bytes_max
) {
    kafka_api::FetchRequest request;
    request.max_bytes = bytes_max;
    ask(request, partition, topic_id, from, bytes_max);
    return request;
}

Consumer::Consumer(World& world, Ledger& ledger, const std::string& name, Kind kind)
    : Client(world, ledger, name), kind_(kind), favourite_(&world.random_host(rng())) {
    for (const Partition& partition : ledger.partitions) {
        positions_[partition] = Offset(0);
    }
}

bool Consumer::done() const {
    return kind_ == Kind::rereader || std::ranges::all_of(positions_, [&](const auto& each) {
               return each.second >= ledger_.acknowledged_end(each.first);
           });
}

std::string Consumer::status() const {
    std::string text;
    for (const auto& [partition, position] : positions_) {
        if (position < ledger_.acknowledged_end(partition)) {
            text += fmt::format(
                "{} is read to {} of {}: {}; ",
                partition.to_string(),
                position,
                ledger_.acknowledged_end(partition),
                last_error_
            );
        }
    }
    return text;
}

rt::Task<void> Consumer::run() {
    while (!hung_up()) {
        Status fetched = co_await find_starts();
        if (fetched.ok()) {
            fetched = co_await fetch_once();
        }
        if (!fetched.ok()) {
            last_error_ = fetched.error().to_string();
            session_.reset();
            favourite_ = &world_.random_host(rng());
            co_await nap(1s);
        }
        if (kind_ == Kind::rereader) {
            jump();
        } else if (rng().chance(1, 30)) {
            favourite_ = &world_.random_host(rng());
            session_.reset();
        }
        co_await nap(chaos() ? world_.knobs.workload.think_max / 4 + 10ms : Duration(50ms));
    }
}

void Consumer::jump() {
    if (!rng().chance(1, 8)) {
        return;
    }
    for (auto& [partition, position] : positions_) {
        const Offset end = ledger_.acknowledged_end(partition);
        position =
            Offset(static_cast<std::int64_t>(rng().below(static_cast<std::uint64_t>(end.v) + 1)));
    }
    session_.reset();
}

rt::Task<Result<Connection*>> Consumer::choose_node() {
    if (session_.has_value() && !session_->connection->failed()) {
        co_return session_->connection;
    }
    Connection* connection = LKS_CO_TRY(co_await connections_.get(*favourite_));
    session_ = Session{
        .connection = connection,
        .version = draw_version<kafka_api::FetchRequest>(rng()),
        .told = {},
    };
    co_return connection;
}

kafka_api::FetchRequest Consumer::make_request() {
    Session& session = *session_;
    kafka_api::FetchRequest request;
    request.max_wait_ms = pick<std::int32_t>(rng(), {0, 100, 500, 5000});
    request.min_bytes = pick<std::int32_t>(rng(), {0, 1, 1, 5000});
    request.max_bytes = pick<std::int32_t>(rng(), {1, 5000, 50 << 20});
    request.isolation_level = static_cast<std::int8_t>(rng().below(2));
    const bool sessions = session.version >= first_version_with_sessions;
    request.session_id = sessions ? session.id : 0;
    request.session_epoch = sessions ? session.epoch : -1;
    const std::int32_t bytes_max = pick<std::int32_t>(rng(), {1, 1000, 1 << 20});
    for (const auto& [partition, position] : positions_) {
        const auto told = session.told.find(partition);
        if (session.epoch > 0 && told != session.told.end() && told->second == position) {
            continue;
        }
        session.told[partition] = position;
        ask(request, partition, ledger_.topic_ids[partition.topic], position, bytes_max);
    }
    return request;
}

rt::Task<Status> Consumer::fetch_once() {
    Connection* connection = LKS_CO_TRY(co_await choose_node());
    std::map<Partition, Floor> floors;
    for (const auto& [partition, position] : positions_) {
        floors[partition] = {
            ledger_.floor(connection->life(), partition),
            ledger_.start_floor(connection->life(), partition)
        };
    }
    const auto response = LKS_CO_TRY(co_await connection->call<kafka_api::FetchResponse>(
        make_request(), session_->version, executor_.now() + 15s
    ));
    if (response.error_code != ErrorCode::none) {
        if (!is_transient(response.error_code)) {
            world_.violated(
                "LIVENESS", fmt::format("a fetch failed: {}", to_string(response.error_code))
            );
        }
        co_return unavailable("fetch: {}", to_string(response.error_code));
    }
    take(response, floors);
    Session& session = *session_;
    if (session.version >= first_version_with_sessions && response.session_id != 0) {
        session.id = response.session_id;
        ++session.epoch;
    } else {
        session.told.clear();
        session.epoch = session.version >= first_version_with_sessions ? 0 : -1;
        session.id = 0;
    }
    co_return Status();
}

void Consumer::take(
    const kafka_api::FetchResponse& response, const std::map<Partition, Floor>& floors
) {
    for (const auto& topic : response.responses) {
        std::string name = topic.topic;
        if (session_->version >= first_version_with_ids) {
            for (const auto& [known, id] : ledger_.topic_ids) {
                name = id == topic.topic_id ? known : name;
            }
        }
        for (const auto& answer : topic.partitions) {
            const Partition partition{name, answer.partition_index};
            const auto floor = floors.find(partition);
            if (floor == floors.end()) {
                world_.violated("INV-NO-LOSS", "a fetch answers for what was not asked");
                return;
            }
            const Fetched fetched{
                .code = answer.error_code,
                .watermark = Offset(answer.high_watermark),
                .records = answer.records.value_or(Slices()).join(),
            };
            take_partition(partition, fetched, floor->second, session_->connection->life());
        }
    }
}

void Consumer::take_partition(
    const Partition& partition, const Fetched& fetched, Floor floor, std::uint64_t life
) {
    if (fetched.code != ErrorCode::none) {
        last_error_ = std::string(to_string(fetched.code));
        if (fetched.code == ErrorCode::offset_out_of_range &&
            positions_[partition] < ledger_.trim_asked(partition)) {
            below_start_.insert(partition);
            session_->told.erase(partition);
            return;
        }
        // A node that has not heard of the newest records yet asks the metadata store, so none may
        // ever say that a place where a client has been does not exist.
        if (!passes(fetched.code)) {
            world_.violated(
                "INV-NO-LOSS",
                fmt::format(
                    "{}: a fetch from {} failed for good: {}",
                    partition.to_string(),
                    positions_[partition],
                    to_string(fetched.code)
                )
            );
        }
        session_->told.erase(partition);  // asked for again, whatever the session thinks
        return;
    }
    if (positions_[partition] < floor.start) {
        world_.violated(
            "INV-START",
            fmt::format(
                "{}: life {} shows offset {} and said it starts at {}",
                partition.to_string(),
                life,
                positions_[partition],
                floor.start
            )
        );
    }
    ledger_.check_watermark(life, partition, floor.watermark, fetched.watermark);
    positions_[partition] = ledger_.see(partition, positions_[partition], fetched.records);
}

rt::Task<Status> Consumer::find_starts() {
    while (!below_start_.empty()) {
        const Partition partition = *below_start_.begin();
        Connection& connection = *LKS_CO_TRY(co_await connections_.any());
        const Offset start =
            LKS_CO_TRY(co_await load_start(connection, executor_, ledger_, partition));
        positions_[partition] = std::max(positions_[partition], start);
        below_start_.erase(partition);
        session_.reset();
    }
    co_return Status();
}

rt::Task<void> TimeSeeker::run() {
    while (chaos()) {
        static_cast<void>((co_await ask()).ok());
        co_await nap(world_.knobs.workload.think_max + 100ms);
    }
}

rt::Task<Status> TimeSeeker::ask() {
    constexpr std::int64_t latest = -1;
    constexpr std::int64_t earliest = -2;
    constexpr std::int64_t newest = -3;
    Connection& connection = *LKS_CO_TRY(co_await connections_.any());
    const Partition partition = ledger_.partitions[rng().below(ledger_.partitions.size())];
    std::int64_t wanted = pick<std::int64_t>(rng(), {latest, earliest, newest, 0, 0, 0, 0});
    const std::int64_t span = world_.knobs.chaos / 1ms + 10'000;
    if (wanted == 0) {
        wanted = to_ms(world_.clock.wall_now()) -
                 static_cast<std::int64_t>(rng().below(static_cast<std::uint64_t>(span)));
    }
    kafka_api::ListOffsetsRequest request;
    request.topics.push_back(
        {.name = partition.topic,
         .partitions = {{.partition_index = partition.number, .timestamp = wanted}}}
    );
    const Offset floor = ledger_.floor(connection.life(), partition);
    const Offset start_floor = ledger_.start_floor(connection.life(), partition);
    const auto version =
        draw_version<kafka_api::ListOffsetsRequest>(rng(), wanted == newest ? 7 : 1);
    const auto response = LKS_CO_TRY(co_await connection.call<kafka_api::ListOffsetsResponse>(
        request, version, executor_.now() + 20s
    ));
    const auto& answer = response.topics.at(0).partitions.at(0);
    if (answer.error_code != ErrorCode::none) {
        const bool trimmed = answer.error_code == ErrorCode::offset_out_of_range &&
                             ledger_.trim_asked(partition) > Offset(0);
        if (!passes(answer.error_code) && !trimmed) {
            world_.violated(
                "INV-NO-LOSS",
                fmt::format(
                    "{}: ListOffsets: {}", partition.to_string(), to_string(answer.error_code)
                )
            );
        }
        co_return unavailable("{}", to_string(answer.error_code));
    }
    const Offset offset(answer.offset);
    if (wanted == latest) {
        ledger_.check_watermark(connection.life(), partition, floor, offset);
    } else if (wanted == earliest) {
        ledger_.check_start(connection.life(), partition, start_floor, offset);
    } else if (wanted >= 0 && offset >= Offset(0)) {
        ledger_.queries.push_back({partition, wanted, answer.timestamp, offset});
    }
    co_return Status();
}

}  // namespace lakestream::sim
