// SPDX-License-Identifier: Apache-2.0
// Sequences, retries, and what a producer may conclude from an answer.
#include "sim/producers.h"

#include <algorithm>

#include "base/format.h"
#include "codec/kafka/gen/init_producer_id.h"

namespace lakestream::sim {

namespace {

using kafka_api::ErrorCode;

}  // namespace

IdempotentProducer::IdempotentProducer(
    World& world, Ledger& ledger, const std::string& name, std::vector<Partition> partitions
)
    : Client(world, ledger, name) {
    for (Partition& partition : partitions) {
        lanes_.push_back(std::make_unique<Lane>());
        lanes_.back()->partition = std::move(partition);
        lanes_.back()->favourite = &world.random_host(rng());
    }
}

void IdempotentProducer::start() {
    for (const auto& lane : lanes_) {
        scope_.spawn(run(*lane));
    }
}

std::string IdempotentProducer::status() const {
    std::string text;
    for (const auto& lane : lanes_) {
        if (!lane->in_flight.empty() || lane->producer < 0) {
            text += fmt::format(
                "lane {} to {} waits for batch {}: {}; ",
                lane->number,
                lane->partition.to_string(),
                lane->in_flight.empty() ? 0 : lane->in_flight.front(),
                lane->last_error
            );
        }
    }
    return text;
}

rt::Task<void> IdempotentProducer::run(Lane& lane) {
    const WorkloadKnobs& work = world_.knobs.workload;
    for (std::size_t i = 0; i < work.lane_batches && chaos(); ++i) {
        const bool bump = i > 0 && rng().chance(1, 40);
        // Counted from the oldest, as clients do: the broker remembers five batches.
        while (under_way(lane) >= (bump ? 1 : work.in_flight)) {
            co_await lane.changed.wait();
        }
        if (i == 0 || bump) {
            co_await identify(lane);
        }
        send_next(lane);
        co_await nap(work.think_max);
    }
    while (!lane.in_flight.empty()) {
        co_await lane.changed.wait();
    }
}

std::uint64_t IdempotentProducer::under_way(const Lane& lane) const {
    return lane.in_flight.empty() ? 0 : lane.next_place - ledger_.at(lane.in_flight.front()).place;
}

/// A new producer id, or the next epoch of the one it has.
rt::Task<void> IdempotentProducer::identify(Lane& lane) {
    while (true) {
        kafka_api::InitProducerIdRequest request;
        request.transactional_id.reset();
        const bool next_epoch = lane.producer >= 0 && rng().chance(2, 3);
        if (next_epoch) {
            request.producer_id = lane.producer;
            request.producer_epoch = lane.epoch;
        }
        const auto connection = co_await connections_.any();
        if (connection.ok()) {
            const auto version =
                draw_version<kafka_api::InitProducerIdRequest>(rng(), next_epoch ? 3 : 0);
            const auto response = co_await (*connection)
                                      ->call<kafka_api::InitProducerIdResponse>(
                                          request, version, executor_.now() + 10s
                                      );
            if (response.ok() && response->error_code == ErrorCode::none) {
                lane.producer = response->producer_id;
                lane.epoch = response->producer_epoch;
                lane.sequence = 0;
                lane.number = ledger_.new_lane();
                lane.next_place = 0;
                co_return;
            }
            lane.last_error = response.ok() ? std::string(to_string(response->error_code))
                                            : response.error().to_string();
        }
        co_await nap(500ms);
    }
}

void IdempotentProducer::send_next(Lane& lane) {
    Batch batch = make_batch(
        rng(),
        world_,
        {.producer_id = lane.producer, .producer_epoch = lane.epoch, .base_sequence = lane.sequence}
    );
    batch.partition = lane.partition;
    batch.idempotent = true;
    batch.lane = lane.number;
    batch.place = lane.next_place++;
    lane.sequence += batch.records;
    const std::size_t id = ledger_.add(std::move(batch)).id;
    lane.in_flight.push_back(id);
    scope_.spawn(deliver(lane, id));
}

rt::Task<void> IdempotentProducer::deliver(Lane& lane, std::size_t id) {
    while (true) {
        // Judged before sending: what a later answer may say about order depends on it.
        const bool first = lane.in_flight.front() == id;
        const auto produced = co_await attempt(lane, ledger_.at(id));
        if (produced.ok() && produced->code == ErrorCode::none) {
            ledger_.acknowledge(ledger_.at(id), produced->offset, produced->life);
            std::erase(lane.in_flight, id);
            lane.changed.notify_all();
            co_return;
        }
        if (produced.ok()) {
            judge(lane, ledger_.at(id), *produced, first);
        } else {
            lane.last_error = produced.error().to_string();
            lane.favourite = &world_.random_host(rng());
        }
        co_await nap(rng().chance(1, 2) ? Duration(20ms) : Duration(1s));
    }
}

rt::Task<Result<Produced>> IdempotentProducer::attempt(Lane& lane, const Batch& batch) {
    Host& host = rng().chance(4, 5) ? *lane.favourite : world_.random_host(rng());
    Connection& connection = *LKS_CO_TRY(co_await connections_.get(host));
    const Duration timeout = pick<Duration>(rng(), {1s, 5s, 30s});
    const std::int16_t version =
        draw_version<kafka_api::ProduceRequest>(rng(), produce_version_min(batch));
    const auto response = LKS_CO_TRY(co_await connection.call<kafka_api::ProduceResponse>(
        produce_request(batch, ledger_.topic_ids[batch.partition.topic], -1, timeout),
        version,
        executor_.now() + timeout + 2s
    ));
    const auto& answer = response.responses.at(0).partition_responses.at(0);
    co_return Produced{answer.error_code, Offset(answer.base_offset), connection.life()};
}

void IdempotentProducer::judge(
    Lane& lane, const Batch& batch, const Produced& produced, bool first
) {
    lane.last_error = std::string(to_string(produced.code));
    const bool out_of_order = produced.code == ErrorCode::out_of_order_sequence_number ||
                              produced.code == ErrorCode::unknown_producer_id;
    // Behind a batch that is not acknowledged yet it may arrive too early.
    if (out_of_order ? first : !is_transient(produced.code)) {
        world_.violated(
            "INV-NO-LOSS",
            fmt::format(
                "batch {} (lane {}, place {}, {}) was refused for good: {}",
                batch.id,
                batch.lane,
                batch.place,
                batch.partition.to_string(),
                to_string(produced.code)
            )
        );
    }
}

rt::Task<void> PlainProducer::run() {
    const WorkloadKnobs& work = world_.knobs.workload;
    for (std::size_t i = 0; i < work.lane_batches && chaos(); ++i) {
        const auto connection = co_await connections_.any();
        if (!connection.ok()) {
            co_await nap(1s);
            continue;
        }
        const std::uint64_t burst = rng().between(1, 4);
        for (std::uint64_t n = 0; n < burst; ++n) {
            send(**connection);
        }
        co_await nap(work.think_max);
    }
}

void PlainProducer::send(Connection& connection) {
    const auto& all = ledger_.partitions;
    std::int16_t version_min = 0;
    const auto acks = pick<std::int16_t>(rng(), {-1, -1, 1, 0});
    kafka_api::ProduceRequest request;
    std::vector<std::size_t> batches;
    const std::size_t first = rng().below(all.size());
    const std::size_t count = rng().between(1, std::min<std::size_t>(all.size(), 3));
    for (std::size_t i = 0; i < count; ++i) {
        Batch batch = make_batch(rng(), world_, {});
        batch.partition = all[(first + i) % all.size()];
        std::uint64_t& lane = lanes_[{&connection, batch.partition}];
        lane = lane == 0 ? ledger_.new_lane() : lane;
        batch.lane = lane;
        batch.place = ledger_.batches().size();
        const Batch& added = ledger_.add(std::move(batch));
        version_min = std::max(version_min, produce_version_min(added));
        batches.push_back(added.id);
        auto one = produce_request(
            added, ledger_.topic_ids[added.partition.topic], acks, pick<Duration>(rng(), {1s, 20s})
        );
        request.acks = one.acks;
        request.timeout_ms = one.timeout_ms;
        request.topic_data.push_back(std::move(one.topic_data.front()));
    }
    const auto version = draw_version<kafka_api::ProduceRequest>(rng(), version_min);
    codec::Writer body;
    LKS_ASSERT(request.encode(body, version).ok());
    if (acks == 0) {
        connection.send_unanswered(kafka_api::ApiKey::produce, version, body.finish());
        return;
    }
    auto answer =
        connection.send(kafka_api::ApiKey::produce, version, body.finish(), executor_.now() + 25s);
    scope_.spawn(note_answer(std::move(answer), version, std::move(batches), connection.life()));
}

rt::Task<void> PlainProducer::note_answer(
    rt::Future<Result<Bytes>> answer,
    std::int16_t version,
    std::vector<std::size_t> batches,
    std::uint64_t life
) {
    const auto response = Connection::decode<kafka_api::ProduceResponse>(
        co_await std::move(answer), kafka_api::ApiKey::produce, version
    );
    if (!response.ok()) {
        co_return;
    }
    for (std::size_t i = 0; i < batches.size(); ++i) {
        const auto& one = response->responses.at(i).partition_responses.at(0);
        if (one.error_code == ErrorCode::none) {
            ledger_.acknowledge(ledger_.at(batches[i]), Offset(one.base_offset), life);
        } else if (!is_transient(one.error_code)) {
            world_.violated(
                "INV-NO-LOSS",
                fmt::format("batch {} was refused: {}", batches[i], to_string(one.error_code))
            );
        }
    }
}

}  // namespace lakestream::sim
