// SPDX-License-Identifier: Apache-2.0
// Rounds of reads over the partitions of a fetch.
#include "kafka/fetch_reader.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

constexpr std::size_t reads_max = 256;    // in one call of the engine
constexpr std::uint64_t void_bytes = 61;  // an empty batch
constexpr auto stop_check_interval = std::chrono::seconds(1);

std::uint64_t response_bytes(const log::ReadEntry& entry) {
    return entry.is_void ? void_bytes : entry.payload.size();
}

}  // namespace

rt::Task<Result<catalog::StreamPtr>> FetchReader::stream_of(const FetchTarget& target) {
    const bool same =
        last_ != nullptr && (target.topic->name.empty() ? topic_id(*last_) == target.topic->id
                                                        : last_->name.name == target.topic->name);
    if (same) {
        co_return last_;
    }
    auto stream =
        co_await load_topic(call_.shard.backend.catalog, target.topic->name, target.topic->id);
    last_ = stream.ok() ? *stream : nullptr;
    co_return std::move(stream);
}

void FetchReader::fail(PartitionRead& partition, KafkaError error) {
    partition.error = error;
    partition.bounds = {.start = Offset(-1), .high_watermark = Offset(-1)};
    partition.entries.clear();
    failed_ = true;
}

PartitionRead FetchReader::begin(
    const FetchTarget& target, const Result<catalog::StreamPtr>& stream
) {
    PartitionRead partition{
        .from = Offset(target.offset),
        .next = Offset(target.offset),
        .bytes_left = static_cast<std::uint64_t>(std::max(target.bytes_max, 0)),
        .entries = {},
    };
    const bool by_id = target.topic->name.empty();
    const std::int32_t epoch = call_.shard.backend.cluster.leader_epoch;
    if (!stream.ok()) {
        const bool unknown_id = by_id && stream.is(ErrorCode::not_found);
        fail(partition, unknown_id ? KafkaError::unknown_topic_id : to_kafka(stream.error()));
    } else if (target.partition < 0 ||
               static_cast<std::size_t>(target.partition) >= (*stream)->logs.size()) {
        fail(partition, KafkaError::unknown_topic_or_partition);
    } else if (target.leader_epoch >= 0 && target.leader_epoch < epoch) {
        fail(partition, KafkaError::fenced_leader_epoch);
    } else if (target.leader_epoch > epoch) {
        fail(partition, KafkaError::unknown_leader_epoch);
    } else if (target.offset < 0) {
        fail(partition, KafkaError::offset_out_of_range);
    } else {
        partition.log = (*stream)->logs[static_cast<std::size_t>(target.partition)];
    }
    return partition;
}

rt::Task<void> FetchReader::resolve(const FetchSession& session) {
    partitions_.reserve(session.partitions().size());
    for (const FetchSession::Partition& partition : session.partitions()) {
        const auto stream = co_await stream_of(partition.target);
        partitions_.push_back(begin(partition.target, stream));
    }
}

rt::Task<void> FetchReader::read(
    std::uint64_t bytes_min, std::uint64_t bytes_max, Deadline patience
) {
    bytes_max_ = bytes_max;
    std::uint64_t before = 0;
    do {  // the engine may give less than it has
        before = bytes_;
        co_await read_round(patience);
    } while (bytes_ > before && bytes_ < bytes_min && call_.shard.executor.now() < patience);
}

rt::Task<void> FetchReader::look() {
    std::vector<log::ReadRequest> requests;
    std::vector<PartitionRead*> readers;
    for (PartitionRead& partition : partitions_) {
        if (partition.error == KafkaError::none && partition.bounds.high_watermark < Offset(0)) {
            readers.push_back(&partition);
            requests.push_back({.log = partition.log, .from = partition.next, .memory_only = true});
        }
    }
    if (requests.empty()) {
        co_return;
    }
    const auto results = co_await call_.shard.backend.engine.read(std::move(requests));
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].ok()) {
            readers[i]->bounds = results[i]->bounds;
        } else {
            fail(*readers[i], to_kafka(results[i].error()));
        }
    }
}

rt::Task<void> FetchReader::read_round(Deadline patience) {
    std::size_t at = 0;
    while (at < partitions_.size() && (room() > 0 || bytes_ == 0)) {
        std::uint64_t left = room();
        std::vector<log::ReadRequest> requests;
        std::vector<PartitionRead*> readers;
        for (; at < partitions_.size() && requests.size() < reads_max; ++at) {
            PartitionRead& partition = partitions_[at];
            const bool more =
                partition.bytes_left > 0 || (bytes_ == 0 && partition.entries.empty());
            if (partition.error != KafkaError::none || !more) {
                continue;
            }
            if (left == 0 && !requests.empty()) {
                break;
            }
            const std::uint64_t wanted = std::min<std::uint64_t>(
                {partition.bytes_left, left, std::numeric_limits<std::uint32_t>::max()}
            );
            left -= wanted;
            readers.push_back(&partition);
            requests.push_back({
                .log = partition.log,
                .from = partition.next,
                .bytes_max = static_cast<std::uint32_t>(wanted),
                .patience = patience,
            });
        }
        if (requests.empty()) {
            co_return;
        }
        auto results = co_await call_.shard.backend.engine.read(std::move(requests));
        LKS_ASSERT(results.size() == readers.size());
        for (std::size_t i = 0; i < results.size(); ++i) {
            take(*readers[i], std::move(results[i]));
        }
    }
}

void FetchReader::take(PartitionRead& partition, Result<log::ReadBatch> result) {
    if (!result.ok()) {
        if (result.is(ErrorCode::corrupt) || result.is(ErrorCode::internal)) {
            log::error(
                "kafka",
                "fetch_failed log={} offset={} error={}",
                partition.log,
                partition.next,
                result.error()
            );
        }
        // What was read before the damage, or before a deletion, is still good.
        if (partition.entries.empty()) {
            fail(partition, to_kafka(result.error()));
        } else {
            partition.bytes_left = 0;
        }
        return;
    }
    partition.bounds = result->bounds;
    for (log::ReadEntry& entry : result->entries) {
        const std::uint64_t size = response_bytes(entry);
        if (size > std::min(partition.bytes_left, room()) && bytes_ > 0) {
            partition.bytes_left = 0;
            break;
        }
        bytes_ += size;
        partition.bytes_left -= std::min(size, partition.bytes_left);
        partition.next = entry.range.end;
        partition.entries.push_back(std::move(entry));
    }
}

rt::Task<bool> FetchReader::wait(Deadline deadline) {
    std::vector<log::LogPosition> positions;
    for (const PartitionRead& partition : partitions_) {
        if (partition.error == KafkaError::none && partition.bytes_left > 0) {
            positions.push_back({.log = partition.log, .seen = partition.bounds.high_watermark});
        }
    }
    const rt::Executor& executor = call_.shard.executor;
    while (!positions.empty() && executor.now() < deadline && !call_.shard.stopping) {
        // In steps, so that a server that stops does not wait for the patience of its clients.
        const Deadline step = std::min(deadline, executor.now() + stop_check_interval);
        if (co_await call_.shard.backend.engine.wait_append(positions, step)) {
            co_return true;
        }
    }
    co_return false;
}

}  // namespace lakestream::kafka
