// SPDX-License-Identifier: Apache-2.0
// Settings of the Kafka server, as plain structs with their defaults.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "kafka/groups/options.h"

namespace lakestream::kafka {

/// Limits of one connection.
struct ConnectionOptions {
    /// Largest request, in bytes. A larger claim closes the connection. 1 KiB to 1 GiB.
    std::uint32_t request_bytes_max = 100 << 20;
    /// Requests read and not yet answered. 1 to 10,000.
    std::uint32_t requests_in_flight_max = 128;
    /// Bytes of requests being served and of responses not yet taken by the client; reading goes on
    /// when there are fewer.
    std::uint64_t bytes_in_flight_max = 128 << 20;
    /// A connection without requests for this long is closed.
    Duration idle_max = 10min;
    /// Patience with a client in the middle of a frame or a response, plus one second for each MiB
    /// of it.
    Duration stall_max = 30s;
};

/// Limits of each shard (executor).
struct ShardOptions {
    /// Bytes that requests may hold; small requests an eighth more, and one request at a time may
    /// grow beyond (docs/protocols/kafka-connection.md).
    std::uint64_t request_bytes = 256 << 20;
    /// Bytes of records that responses may hold. When they are used up, a fetch gets
    /// `fetch_bytes_floor`.
    std::uint64_t response_bytes = 256 << 20;
    std::uint64_t fetch_bytes_floor = 256 << 10;
    /// Bytes of batches that were compressed again and wait to be stored (compression.type).
    std::uint64_t recompressed_bytes = 64 << 20;
    /// Fetch sessions kept (KIP-227), and partitions in all of them together.
    std::size_t fetch_sessions_max = 1000;
    std::size_t fetch_session_partitions_max = 200'000;
    /// A session is safe from newcomers for this long after its making or last use.
    Duration fetch_session_age_min = 2min;
};

/// What topics and requests get when they do not say otherwise.
struct BrokerOptions {
    /// Whether Metadata creates topics that do not exist (auto.create.topics.enable).
    bool auto_create_topics = true;
    /// Partitions of a topic whose creator does not say (num.partitions). 1 to 100,000.
    std::int32_t partitions_default = 1;
    /// Most partitions of one topic, and of all topics of one CreateTopics request together.
    std::int32_t partitions_max = 100'000;
    /// Most topics created, deleted or described by one request.
    std::size_t topics_per_request_max = 10'000;
    /// Most bytes of one response to DescribeConfigs, DescribeGroups or OffsetFetch, but for the
    /// last thing in it; and most partitions of one page of DescribeTopicPartitions.
    std::size_t described_bytes_max = 64 << 20;
    std::int32_t described_partitions_max = 2000;
    /// Bounds of a Produce request's own time-out.
    Duration produce_timeout_min = 1s;
    Duration produce_timeout_max = 60s;
    /// Most bytes of records in one fetch response (fetch.max.bytes).
    std::uint32_t fetch_bytes_max = 55 << 20;
    /// Producer ids taken from the catalog at a time.
    std::int64_t producer_ids_block = 1000;
    /// Partitions of one ListOffsets request searched by time at the same moment.
    std::size_t time_searches_max = 8;
};

struct ServerOptions {
    std::size_t connections_max = 10'000;
    ConnectionOptions connection;
    ShardOptions shard;
    BrokerOptions broker;
    groups::GroupOptions groups;
};

}  // namespace lakestream::kafka
