// SPDX-License-Identifier: Apache-2.0
// The tables of settings. Names, ranges and sentences; defaults stand in the structs they belong
// to.
#include <array>

#include "server/settings.h"

namespace lakestream::server {

namespace {

constexpr std::int64_t kib = std::int64_t{1} << 10;
constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t gib = std::int64_t{1} << 30;

constexpr std::int64_t ns(Duration duration) {
    return duration.count();
}

/// The place that a path of members leads to.
template <auto... path>
Place at(Settings& settings) {
    return &(settings.*....*path);
}

template <auto member>
constexpr auto in_process = &at<member>;
template <auto member>
constexpr auto in_node = &at<&Settings::node, member>;
template <auto member>
constexpr auto in_log = &at<&Settings::node, &NodeSettings::log, member>;
template <auto member>
constexpr auto in_compact = &at<&Settings::node, &NodeSettings::compact, member>;
template <auto member>
constexpr auto in_clean = &at<&Settings::node, &NodeSettings::clean, member>;
template <auto member>
constexpr auto in_kafka = &at<&Settings::node, &NodeSettings::kafka, member>;
template <auto member>
constexpr auto in_connection =
    &at<&Settings::node, &NodeSettings::kafka, &kafka::ServerOptions::connection, member>;
template <auto member>
constexpr auto in_shard =
    &at<&Settings::node, &NodeSettings::kafka, &kafka::ServerOptions::shard, member>;
template <auto member>
constexpr auto in_broker =
    &at<&Settings::node, &NodeSettings::kafka, &kafka::ServerOptions::broker, member>;
template <auto member>
constexpr auto in_groups =
    &at<&Settings::node, &NodeSettings::kafka, &kafka::ServerOptions::groups, member>;

constexpr Setting node_settings[] = {
    {.name = "storage",
     .place = in_process<&Settings::storage>,
     .unit = Unit::url,
     .doc = "Where objects are stored: `file:///DIR`, an absolute path."},
    {.name = "metadata",
     .place = in_process<&Settings::metadata>,
     .unit = Unit::url,
     .doc = "Where metadata is stored: `embedded:///DIR`, for one process at a time."},
    {.name = "roles",
     .place = in_node<&NodeSettings::roles>,
     .choices = "broker compactor catalog",
     .doc = "`broker` serves Kafka clients, `compactor` compacts and writes tables; one of them "
            "must be there. `catalog` adds nothing to them yet."},
    {.name = "zone",
     .place = in_node<&NodeSettings::zone>,
     .doc = "The availability zone, told to Kafka clients as the rack."},
    {.name = "compat",
     .place = in_node<&NodeSettings::compat>,
     .choices = "none ursa-shared",
     .doc = "`ursa-shared`, for data that Ursa 1.0 works on as well, is refused: it needs Oxia."},
};

constexpr Setting process_settings[] = {
    {.name = "process.shards",
     .place = in_process<&Settings::shards>,
     .max = 32,
     .doc = "Event loops, each with a thread; 0: one for each usable core."},
    {.name = "process.io_threads",
     .place = in_process<&Settings::io_threads>,
     .min = 1,
     .max = 64,
     .doc = "Threads for blocking calls on files, but for reads of objects."},
    {.name = "process.read_threads",
     .place = in_process<&Settings::read_threads>,
     .min = 1,
     .max = 64,
     .doc =
         "Threads that read objects and decode them, each 256 KiB at a time: more for a disk that "
         "is faster than 1 GB/s, fewer where reads make writes slow."},
    {.name = "process.drain_max",
     .place = in_process<&Settings::drain_max>,
     .unit = Unit::time,
     .max = ns(10min),
     .doc = "Longest wait for requests in flight when stopping."},
    {.name = "process.log_level",
     .place = in_process<&Settings::log_level>,
     .choices = "debug info warn error",
     .doc = "The least important lines that are logged."},
};

constexpr Setting table_settings[] = {
    {.name = "table.default",
     .place = in_compact<&compact::CompactorSettings::tables_default>,
     .doc = "Whether a topic that does not set `lakestream.table` has a table."},
    {.name = "table.commit_interval",
     .place = in_compact<&compact::CompactorSettings::table_interval>,
     .unit = Unit::time,
     .min = ns(100ms),
     .max = ns(24h),
     .doc = "Time between two commits of one table."},
    {.name = "table.file_bytes_max",
     .place = in_compact<&compact::CompactorSettings::table_file_bytes_max>,
     .unit = Unit::bytes,
     .min = mib,
     .max = gib,
     .doc = "Record bytes that go into one data file."},
};

constexpr Setting compact_settings[] = {
    {.name = "compact.bytes",
     .place = in_compact<&compact::CompactorSettings::compact_bytes>,
     .unit = Unit::bytes,
     .min = 64 * kib,
     .max = gib,
     .doc = "Record bytes of a log that are compacted at once."},
    {.name = "compact.bytes_max",
     .place = in_compact<&compact::CompactorSettings::compact_bytes_max>,
     .unit = Unit::bytes,
     .min = mib,
     .max = gib,
     .doc = "Most record bytes in one compacted object."},
    {.name = "compact.age",
     .place = in_compact<&compact::CompactorSettings::compact_age>,
     .unit = Unit::time,
     .min = ns(100ms),
     .max = ns(24h),
     .doc = "A log with less is compacted after this time."},
    {.name = "compact.merge_objects",
     .place = in_compact<&compact::CompactorSettings::merge_objects>,
     .max = 64,
     .doc = "Small compacted objects beside each other that are made one; 0: never."},
    {.name = "compact.spill_bytes_max",
     .place = in_compact<&compact::CompactorSettings::spill_bytes_max>,
     .unit = Unit::bytes,
     .min = 64 * mib,
     .max = 1024 * gib,
     .doc = "Local disk that compaction and tables may use."},
    {.name = "compact.zstd_level",
     .place = in_compact<&compact::CompactorSettings::zstd_level>,
     .min = 1,
     .max = 19,
     .doc = "Compression of table files."},
};

constexpr Setting clean_settings[] = {
    {.name = "clean.enabled",
     .place = in_clean<&clean::CleanSettings::enabled>,
     .doc = "Whether a node with the role `compactor` applies retention and deletes what nobody "
            "needs."},
    {.name = "clean.interval",
     .place = in_clean<&clean::CleanSettings::interval>,
     .unit = Unit::time,
     .min = ns(100ms),
     .max = ns(24h),
     .doc = "Time between two passes over the stored objects; none while nothing changes."},
    {.name = "clean.readers_grace",
     .place = in_clean<&clean::CleanSettings::readers_grace>,
     .unit = Unit::time,
     .max = ns(24h),
     .doc = "An object that nobody refers to stays at least so long for those who read it; below "
            "`log.damage_patience` other engines may see it missing."},
    {.name = "clean.unreferenced_age",
     .place = in_clean<&clean::CleanSettings::unreferenced_age>,
     .unit = Unit::time,
     .max = ns(24h * 365),
     .doc = "Where several nodes write: age of a WAL object that was never published, or of the "
            "last ones of an idle log, at which it goes; not below 30 minutes. A node on the "
            "embedded store knows without waiting."},
    {.name = "clean.objects_per_pass",
     .place = in_clean<&clean::CleanSettings::objects_per_pass>,
     .min = 100,
     .max = 1'000'000,
     .doc = "WAL objects, and files of compacted ones, looked at in one pass."},
};

constexpr Setting retention_settings[] = {
    {.name = "retention.interval",
     .place = in_clean<&clean::CleanSettings::retention_interval>,
     .unit = Unit::time,
     .min = ns(100ms),
     .max = ns(24h),
     .doc = "Time between two looks at what has expired."},
    {.name = "retention.time",
     .place = in_clean<&clean::CleanSettings::retention_time>,
     .unit = Unit::time,
     .max = ns(24h * 365 * 100),
     .doc = "How long a topic without `retention.ms` keeps records."},
    {.name = "retention.bytes",
     .place = in_clean<&clean::CleanSettings::retention_bytes>,
     .min = -1,
     .doc = "What a partition of a topic without `retention.bytes` keeps; -1: no limit."},
};

constexpr Setting http_settings[] = {
    {.name = "http.listen",
     .place = in_node<&NodeSettings::http_listen>,
     .unit = Unit::address,
     .doc = "Where `/metrics`, `/livez` and `/readyz` are served; empty: nowhere."},
};

constexpr Setting log_settings[] = {
    {.name = "log.object_bytes_max",
     .place = in_log<&log::EngineSettings::object_bytes_max>,
     .unit = Unit::bytes,
     .min = 64 * kib,
     .max = gib,
     .doc = "Largest WAL object, but for one large entry."},
    {.name = "log.uploads_max",
     .place = in_log<&log::EngineSettings::uploads_max>,
     .min = 1,
     .max = 64,
     .doc = "WAL objects being stored at once."},
    {.name = "log.objects_waiting_max",
     .place = in_log<&log::EngineSettings::objects_waiting_max>,
     .min = 1,
     .max = 1024,
     .doc = "WAL objects sealed and not yet published."},
    {.name = "log.publish_puts_max",
     .place = in_log<&log::EngineSettings::publish_puts_max>,
     .min = 1,
     .max = 100'000,
     .doc = "Index records in one metadata write."},
    {.name = "log.publish_bytes_max",
     .place = in_log<&log::EngineSettings::publish_bytes_max>,
     .unit = Unit::bytes,
     .min = 64 * kib,
     .max = 64 * mib,
     .doc = "Bytes of one metadata write."},
    {.name = "log.linger",
     .place = in_log<&log::EngineSettings::linger>,
     .unit = Unit::time,
     .max = ns(10s),
     .doc = "Wait before sealing an object, to make objects fewer and larger."},
    {.name = "log.append_bytes_max",
     .place = in_log<&log::EngineSettings::append_bytes_max>,
     .unit = Unit::bytes,
     .min = mib,
     .max = 64 * gib,
     .doc = "Bytes appended and not yet acknowledged, all logs."},
    {.name = "log.tail_cache_bytes_max",
     .place = in_log<&log::EngineSettings::tail_cache_bytes_max>,
     .unit = Unit::bytes,
     .max = 1024 * gib,
     .doc = "Recent entries kept in memory, all logs."},
    {.name = "log.section_cache_bytes_max",
     .place = in_log<&log::EngineSettings::section_cache_bytes_max>,
     .unit = Unit::bytes,
     .max = 1024 * gib,
     .doc = "Entries read from objects kept in memory."},
    {.name = "log.section_read_bytes_max",
     .place = in_log<&log::EngineSettings::section_read_bytes_max>,
     .unit = Unit::bytes,
     .min = mib,
     .max = 1024 * gib,
     .doc = "Entries on their way from objects at once, all logs; one section that is larger comes "
            "alone."},
    {.name = "log.compacted_cache_bytes_max",
     .place = in_node<&NodeSettings::compacted_cache_bytes_max>,
     .unit = Unit::bytes,
     .min = mib,
     .max = 1024 * gib,
     .doc = "Parts of compacted objects in memory, kept and on their way; what is larger comes "
            "alone."},
    {.name = "log.header_cache_objects_max",
     .place = in_log<&log::EngineSettings::header_cache_objects_max>,
     .max = 1'000'000,
     .doc = "Index blocks of objects kept in memory, for each shard."},
    {.name = "log.snapshot_records",
     .place = in_log<&log::EngineSettings::snapshot_records>,
     .min = 1,
     .max = 1'000'000,
     .doc = "Index records of a log folded between two snapshots of its fold."},
    {.name = "log.store_failure_patience",
     .place = in_log<&log::EngineSettings::store_failure_patience>,
     .unit = Unit::time,
     .max = ns(10min),
     .doc = "A store that refuses writes for longer makes appends fail."},
    {.name = "log.backoff_min",
     .place = in_log<&log::EngineSettings::backoff_min>,
     .unit = Unit::time,
     .min = ns(1ms),
     .max = ns(1min),
     .doc = "First wait before a failed request is repeated; it doubles."},
    {.name = "log.backoff_max",
     .place = in_log<&log::EngineSettings::backoff_max>,
     .unit = Unit::time,
     .min = ns(1ms),
     .max = ns(1min),
     .doc = "Longest wait before a failed request is repeated."},
    {.name = "log.damage_patience",
     .place = in_log<&log::EngineSettings::damage_patience>,
     .unit = Unit::time,
     .max = ns(10min),
     .doc = "A missing object is looked for this long before it is reported."},
};

constexpr Setting kafka_settings[] = {
    {.name = "kafka.listen",
     .place = in_node<&NodeSettings::kafka_listen>,
     .unit = Unit::address,
     .doc = "Where Kafka clients are served."},
    {.name = "kafka.advertise",
     .place = in_node<&NodeSettings::kafka_advertise>,
     .unit = Unit::address,
     .doc = "The address clients are told to connect to; empty: where it listens."},
    {.name = "kafka.broker_id",
     .place = in_node<&NodeSettings::broker_id>,
     .max = 0x7fff'ffff,
     .doc = "The id clients know this broker by."},
    {.name = "kafka.connections_max",
     .place = in_kafka<&kafka::ServerOptions::connections_max>,
     .min = 1,
     .max = 1'000'000,
     .doc = "Open connections; further ones are closed. Lower when there are fewer files."},
    {.name = "kafka.request_bytes_max",
     .place = in_connection<&kafka::ConnectionOptions::request_bytes_max>,
     .unit = Unit::bytes,
     .min = kib,
     .max = gib,
     .doc = "Largest request; a larger one closes its connection."},
    {.name = "kafka.requests_in_flight_max",
     .place = in_connection<&kafka::ConnectionOptions::requests_in_flight_max>,
     .min = 1,
     .max = 10'000,
     .doc = "Requests of one connection read and not yet answered."},
    {.name = "kafka.bytes_in_flight_max",
     .place = in_connection<&kafka::ConnectionOptions::bytes_in_flight_max>,
     .unit = Unit::bytes,
     .min = kib,
     .max = 16 * gib,
     .doc = "Bytes of one connection's requests and answers in memory."},
    {.name = "kafka.idle_max",
     .place = in_connection<&kafka::ConnectionOptions::idle_max>,
     .unit = Unit::time,
     .min = ns(1s),
     .max = ns(24h),
     .doc = "A connection without requests for longer is closed."},
    {.name = "kafka.stall_max",
     .place = in_connection<&kafka::ConnectionOptions::stall_max>,
     .unit = Unit::time,
     .min = ns(1s),
     .max = ns(1h),
     .doc = "Patience with a client in the middle of a frame."},
    {.name = "kafka.shard_request_bytes",
     .place = in_shard<&kafka::ShardOptions::request_bytes>,
     .unit = Unit::bytes,
     .min = mib,
     .max = 64 * gib,
     .doc = "Bytes of requests admitted at a time, for each shard."},
    {.name = "kafka.shard_response_bytes",
     .place = in_shard<&kafka::ShardOptions::response_bytes>,
     .unit = Unit::bytes,
     .min = mib,
     .max = 64 * gib,
     .doc =
         "Bytes of records that answers may hold, for each shard; above it fetches get less, and "
         "at twice as much they wait."},
    {.name = "kafka.fetch_bytes_floor",
     .place = in_shard<&kafka::ShardOptions::fetch_bytes_floor>,
     .unit = Unit::bytes,
     .min = kib,
     .max = gib,
     .doc = "What a fetch may take even when `kafka.shard_response_bytes` are used up."},
    {.name = "kafka.fetch_sessions_max",
     .place = in_shard<&kafka::ShardOptions::fetch_sessions_max>,
     .max = 1'000'000,
     .doc = "Fetch sessions kept, for each shard."},
    {.name = "kafka.fetch_session_partitions_max",
     .place = in_shard<&kafka::ShardOptions::fetch_session_partitions_max>,
     .max = 100'000'000,
     .doc = "Partitions in all fetch sessions together, for each shard."},
    {.name = "kafka.fetch_session_age_min",
     .place = in_shard<&kafka::ShardOptions::fetch_session_age_min>,
     .unit = Unit::time,
     .max = ns(24h),
     .doc = "A fetch session used more recently is not given up for a new one."},
    {.name = "kafka.auto_create_topics",
     .place = in_broker<&kafka::BrokerOptions::auto_create_topics>,
     .doc = "Whether a topic that does not exist is created when a client asks for it."},
    {.name = "kafka.partitions_default",
     .place = in_broker<&kafka::BrokerOptions::partitions_default>,
     .min = 1,
     .max = 100'000,
     .doc = "Partitions of a topic whose creator does not say."},
    {.name = "kafka.partitions_max",
     .place = in_broker<&kafka::BrokerOptions::partitions_max>,
     .min = 1,
     .max = 100'000,
     .doc = "Most partitions of one topic."},
    {.name = "kafka.topics_per_request_max",
     .place = in_broker<&kafka::BrokerOptions::topics_per_request_max>,
     .min = 1,
     .max = 1'000'000,
     .doc = "Most topics created, deleted or described by one request."},
    {.name = "kafka.produce_timeout_min",
     .place = in_broker<&kafka::BrokerOptions::produce_timeout_min>,
     .unit = Unit::time,
     .max = ns(1h),
     .doc = "Shortest time-out of a Produce request; a shorter one is lengthened."},
    {.name = "kafka.produce_timeout_max",
     .place = in_broker<&kafka::BrokerOptions::produce_timeout_max>,
     .unit = Unit::time,
     .min = ns(1ms),
     .max = ns(1h),
     .doc = "Longest time-out of a Produce request; a longer one is shortened."},
    {.name = "kafka.fetch_bytes_max",
     .place = in_broker<&kafka::BrokerOptions::fetch_bytes_max>,
     .unit = Unit::bytes,
     .min = kib,
     .max = gib,
     .doc = "Most bytes of records in one answer to Fetch."},
    {.name = "kafka.producer_ids_block",
     .place = in_broker<&kafka::BrokerOptions::producer_ids_block>,
     .min = 1,
     .max = 1'000'000,
     .doc = "Producer ids taken from the catalog at a time."},
    {.name = "kafka.time_searches_max",
     .place = in_broker<&kafka::BrokerOptions::time_searches_max>,
     .min = 1,
     .max = 1000,
     .doc = "Partitions of one ListOffsets request searched by time at once."},
};

constexpr Setting group_settings[] = {
    {.name = "group.session_timeout_min",
     .place = in_groups<&kafka::groups::GroupOptions::session_timeout_min>,
     .unit = Unit::time,
     .min = ns(1ms),
     .max = ns(24h),
     .doc = "Shortest session time-out of a member (`group.min.session.timeout.ms`)."},
    {.name = "group.session_timeout_max",
     .place = in_groups<&kafka::groups::GroupOptions::session_timeout_max>,
     .unit = Unit::time,
     .min = ns(1ms),
     .max = ns(24h),
     .doc = "Longest session time-out of a member (`group.max.session.timeout.ms`)."},
    {.name = "group.initial_rebalance_delay",
     .place = in_groups<&kafka::groups::GroupOptions::initial_rebalance_delay>,
     .unit = Unit::time,
     .max = ns(10min),
     .doc = "How long the first rebalance of an empty group waits for further members "
            "(`group.initial.rebalance.delay.ms`)."},
    {.name = "group.members_max",
     .place = in_groups<&kafka::groups::GroupOptions::members_max>,
     .min = 1,
     .max = 100'000,
     .doc = "Most members of one group (`group.max.size`)."},
    {.name = "group.bytes_max",
     .place = in_groups<&kafka::groups::GroupOptions::group_bytes_max>,
     .unit = Unit::bytes,
     .min = 64 * kib,
     .max = 5 * mib,
     .doc = "Most bytes of subscriptions and assignments of one group."},
    {.name = "group.memory_max",
     .place = in_groups<&kafka::groups::GroupOptions::memory_max>,
     .unit = Unit::bytes,
     .min = 16 * mib,
     .max = 64 * gib,
     .doc =
         "Most memory of all consumer groups, members and offsets, shared among the event loops; "
         "each has at least twice `group.bytes_max`. Groups without members leave it for others; "
         "what does not fit is refused."},
    {.name = "group.groups_max",
     .place = in_groups<&kafka::groups::GroupOptions::groups_max>,
     .min = 1,
     .max = 10'000'000,
     .doc = "Most groups of one event loop."},
    {.name = "group.offsets_max",
     .place = in_groups<&kafka::groups::GroupOptions::offsets_per_group_max>,
     .min = 1,
     .max = 10'000'000,
     .doc = "Most partitions with a committed offset of one group."},
    {.name = "group.offset_metadata_bytes_max",
     .place = in_groups<&kafka::groups::GroupOptions::offset_metadata_bytes_max>,
     .unit = Unit::bytes,
     .max = 32 * kib,
     .doc = "Most bytes of metadata with one committed offset (`offset.metadata.max.bytes`)."},
    {.name = "group.offsets_retention",
     .place = in_groups<&kafka::groups::GroupOptions::offsets_retention>,
     .unit = Unit::time,
     .min = ns(1s),
     .max = ns(24h) * 3650,
     .doc = "How long offsets are kept after their group has become empty "
            "(`offsets.retention.minutes`)."},
    {.name = "group.offsets_check_interval",
     .place = in_groups<&kafka::groups::GroupOptions::offsets_check_interval>,
     .unit = Unit::time,
     .min = ns(100ms),
     .max = ns(24h),
     .doc = "Time between two looks for expired offsets "
            "(`offsets.retention.check.interval.ms`)."},
    {.name = "group.commit_timeout",
     .place = in_groups<&kafka::groups::GroupOptions::commit_timeout>,
     .unit = Unit::time,
     .min = ns(1ms),
     .max = ns(10min),
     .doc = "How long a commit waits for the metadata store (`offsets.commit.timeout.ms`)."},
};

constexpr SettingTable tables[] = {
    {.module = "", .doc = "The node: the keys above all tables.", .settings = node_settings},
    {.module = "kafka", .doc = "The Kafka server.", .settings = kafka_settings},
    {.module = "group", .doc = "Consumer groups.", .settings = group_settings},
    {.module = "table", .doc = "Iceberg tables of topics.", .settings = table_settings},
    {.module = "compact", .doc = "Compaction of the WAL.", .settings = compact_settings},
    {.module = "clean", .doc = "Deleting objects that nobody needs.", .settings = clean_settings},
    {.module = "retention", .doc = "What topics keep.", .settings = retention_settings},
    {.module = "http", .doc = "The HTTP server.", .settings = http_settings},
    {.module = "log", .doc = "The log engine: appends and reads.", .settings = log_settings},
    {.module = "process", .doc = "Threads, stopping, logging.", .settings = process_settings},
};

}  // namespace

std::span<const SettingTable> setting_tables() {
    return tables;
}

}  // namespace lakestream::server
