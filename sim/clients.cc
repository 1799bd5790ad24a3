// SPDX-License-Identifier: Apache-2.0
// Batches of random records, and which answers are no answers.
#include "sim/clients.h"

namespace lakestream::sim {

Batch make_batch(rt::Rng& rng, const World& world, const codec::BatchOptions& producer) {
    codec::BatchOptions options = producer;
    options.codec = static_cast<codec::Compression>(rng.chance(1, 2) ? 0 : rng.below(5));
    codec::BatchBuilder builder(options);
    Batch batch;
    const WorkloadKnobs& work = world.knobs.workload;
    const std::uint64_t count = rng.between(1, work.records_max);
    for (std::uint64_t i = 0; i < count; ++i) {
        std::vector<std::byte> value(rng.below(work.value_bytes_max + 1));
        for (std::byte& byte : value) {
            byte = static_cast<std::byte>(rng.below(rng.chance(1, 2) ? 4 : 256));
        }
        const auto key = rng.bytes16();  // makes the batch unlike all others
        const std::int64_t back = static_cast<std::int64_t>(rng.below(5000));
        batch.timestamps.push_back(to_ms(world.clock.wall_now()) - back);
        codec::NullableBytes nullable = std::span<const std::byte>(value);
        if (rng.chance(1, 20)) {
            nullable.reset();
        }
        builder.add(batch.timestamps.back(), std::span<const std::byte>(key), nullable);
    }
    batch.records = builder.record_count();
    batch.bytes = builder.finish();
    return batch;
}

std::int16_t produce_version_min(const Batch& batch) {
    const auto header = codec::read_batch_header(batch.bytes.span());
    return header.ok() && header->codec() == codec::Compression::zstd ? 7 : 0;
}

kafka_api::ProduceRequest produce_request(
    const Batch& batch, kafka_api::Uuid topic_id, std::int16_t acks, Duration timeout
) {
    kafka_api::ProduceRequest request;
    request.acks = acks;
    request.timeout_ms = static_cast<std::int32_t>(timeout / 1ms);
    auto& topic = request.topic_data.emplace_back();
    topic.name = batch.partition.topic;
    topic.topic_id = topic_id;
    topic.partition_data.push_back({.index = batch.partition.number, .records = batch.bytes});
    return request;
}

bool is_transient(kafka_api::ErrorCode code) {
    // A node whose clock is hours behind takes a record for one from the future.
    return kafka_api::is_retriable(code) || code == kafka_api::ErrorCode::invalid_timestamp;
}

}  // namespace lakestream::sim
