// SPDX-License-Identifier: Apache-2.0
// The table of topic configurations. tools/gen_topic_configs.py reads it as well: one field a line.
#include <algorithm>
#include <array>

#include "kafka/topic_configs.h"

namespace lakestream::kafka {

namespace {

using enum ConfigType;
using enum TopicConfig::Effect;

constexpr std::string_view long_max_text = "9223372036854775807";
constexpr std::string_view codecs = "uncompressed, zstd, lz4, snappy, gzip, producer";

constexpr std::array configs{
    TopicConfig{
        .name = "cleanup.policy",
        .type = list,
        .default_value = "delete",
        .choices = "compact, delete",
        .refused = "compact",
        .reason = "key compaction is not built yet; only delete is possible",
        .broker_name = "log.cleanup.policy",
        .effect = in_effect,
        .doc = "`delete`: records are removed as `retention.ms` and `retention.bytes` say; empty: "
               "they stay. `compact` is refused until key compaction is built.",
    },
    TopicConfig{
        .name = "compression.gzip.level",
        .type = int32,
        .default_value = "-1",
        .min = -1,
        .max = 9,
        .doc = "What is compressed here has the codec's own level.",
    },
    TopicConfig{
        .name = "compression.lz4.level",
        .type = int32,
        .default_value = "9",
        .min = 1,
        .max = 17,
        .doc = "What is compressed here has the codec's own level.",
    },
    TopicConfig{
        .name = "compression.type",
        .type = text,
        .default_value = "producer",
        .choices = codecs,
        .broker_name = "compression.type",
        .effect = in_effect,
        .doc = "`producer`: batches are stored as they come. Else those of another codec are "
               "compressed again before they are stored, which costs time and CPU.",
    },
    TopicConfig{
        .name = "compression.zstd.level",
        .type = int32,
        .default_value = "3",
        .min = -131072,
        .max = 22,
        .doc = "What is compressed here has the codec's own level.",
    },
    TopicConfig{
        .name = "delete.retention.ms",
        .type = int64,
        .default_value = "86400000",
        .min = 0,
        .broker_name = "log.cleaner.delete.retention.ms",
        .doc = "How long key compaction keeps tombstones; there is none.",
    },
    TopicConfig{
        .name = "errors.deadletterqueue.group.enable",
        .type = boolean,
        .default_value = "false",
        .doc = "Whether share groups may use the topic for what they gave up; there are none.",
    },
    TopicConfig{
        .name = "file.delete.delay.ms",
        .type = int64,
        .default_value = "60000",
        .min = 0,
        .broker_name = "log.segment.delete.delay.ms",
        .doc = "How long a removed segment file stays; topics have none.",
    },
    TopicConfig{
        .name = "flush.messages",
        .type = int64,
        .default_value = long_max_text,
        .min = 1,
        .broker_name = "log.flush.interval.messages",
        .doc = "When files are synced. Every acknowledged record is durable already.",
    },
    TopicConfig{
        .name = "flush.ms",
        .type = int64,
        .default_value = long_max_text,
        .min = 0,
        .broker_name = "log.flush.interval.ms",
        .doc = "When files are synced. Every acknowledged record is durable already.",
    },
    TopicConfig{
        .name = "follower.replication.throttled.replicas",
        .type = list,
        .default_value = "",
        .doc = "Replicas whose copying is slowed; brokers copy nothing.",
    },
    TopicConfig{
        .name = "index.interval.bytes",
        .type = int32,
        .default_value = "4096",
        .min = 0,
        .broker_name = "log.index.interval.bytes",
        .doc = "How dense the index of a segment file is; topics have none.",
    },
    TopicConfig{
        .name = "internal.segment.bytes",
        .type = int32,
        .default_value = std::nullopt,
        .doc = "Size of a segment file in Kafka's own tests; topics have none.",
    },
    TopicConfig{
        .name = "lakestream.table",
        .type = boolean,
        .default_value = "false",
        .broker_name = "table.default",
        .effect = in_effect,
        .doc = "Whether the topic is an Iceberg table as well. A topic that does not say has one "
               "if the setting `table.default` says so.",
    },
    TopicConfig{
        .name = "leader.replication.throttled.replicas",
        .type = list,
        .default_value = "",
        .doc = "Replicas whose copying is slowed; brokers copy nothing.",
    },
    TopicConfig{
        .name = "local.retention.bytes",
        .type = int64,
        .default_value = "-2",
        .min = -2,
        .broker_name = "log.local.retention.bytes",
        .doc = "What stays on local disks beside Kafka's tiered storage; nothing is there.",
    },
    TopicConfig{
        .name = "local.retention.ms",
        .type = int64,
        .default_value = "-2",
        .min = -2,
        .broker_name = "log.local.retention.ms",
        .doc = "What stays on local disks beside Kafka's tiered storage; nothing is there.",
    },
    TopicConfig{
        .name = "max.compaction.lag.ms",
        .type = int64,
        .default_value = long_max_text,
        .min = 1,
        .broker_name = "log.cleaner.max.compaction.lag.ms",
        .doc = "When key compaction must have seen a record; there is none.",
    },
    TopicConfig{
        .name = "max.decompressed.message.bytes",
        .type = int32,
        .default_value = "2147483639",
        .min = 1,
        .max = 2147483639,
        .effect = in_effect,
        .doc = "Most bytes of a batch's records when `compression.type` has them compressed "
               "again; 32 MiB if it says more.",
    },
    TopicConfig{
        .name = "max.message.bytes",
        .type = int32,
        .default_value = "1048588",
        .min = 0,
        .broker_name = "message.max.bytes",
        .effect = in_effect,
        .doc = "Largest batch that is taken, in bytes as it is stored.",
    },
    TopicConfig{
        .name = "message.timestamp.after.max.ms",
        .type = int64,
        .default_value = "3600000",
        .min = 0,
        .broker_name = "log.message.timestamp.after.max.ms",
        .effect = in_effect,
        .doc = "How far a batch's largest timestamp may be ahead of the broker's clock, when "
               "timestamps are the producer's.",
    },
    TopicConfig{
        .name = "message.timestamp.before.max.ms",
        .type = int64,
        .default_value = long_max_text,
        .min = 0,
        .broker_name = "log.message.timestamp.before.max.ms",
        .effect = in_effect,
        .doc = "How far a batch's largest timestamp may be behind the broker's clock, when "
               "timestamps are the producer's.",
    },
    TopicConfig{
        .name = "message.timestamp.type",
        .type = text,
        .default_value = "CreateTime",
        .choices = "CreateTime, LogAppendTime",
        .broker_name = "log.message.timestamp.type",
        .effect = in_effect,
        .doc = "Whether records have the producer's time or that of the broker when they came.",
    },
    TopicConfig{
        .name = "min.cleanable.dirty.ratio",
        .type = real,
        .default_value = "0.5",
        .min = 0,
        .max = 1,
        .broker_name = "log.cleaner.min.cleanable.ratio",
        .doc = "When key compaction begins; there is none.",
    },
    TopicConfig{
        .name = "min.compaction.lag.ms",
        .type = int64,
        .default_value = "0",
        .min = 0,
        .broker_name = "log.cleaner.min.compaction.lag.ms",
        .doc = "When key compaction may see a record; there is none.",
    },
    TopicConfig{
        .name = "min.insync.replicas",
        .type = int32,
        .default_value = "1",
        .min = 1,
        .broker_name = "min.insync.replicas",
        .doc = "Replicas that must have a record before it is acknowledged. Storage replicates: "
               "every acknowledged record is durable.",
    },
    TopicConfig{
        .name = "preallocate",
        .type = boolean,
        .default_value = "false",
        .broker_name = "log.preallocate",
        .doc = "Whether segment files get their size at once; topics have none.",
    },
    TopicConfig{
        .name = "remote.copy.lag.bytes",
        .type = int64,
        .default_value = "-1",
        .min = -1,
        .broker_name = "log.remote.copy.lag.bytes",
        .doc = "When Kafka's tiered storage copies a segment; there is nothing to copy.",
    },
    TopicConfig{
        .name = "remote.copy.lag.ms",
        .type = int64,
        .default_value = "0",
        .min = -1,
        .broker_name = "log.remote.copy.lag.ms",
        .doc = "When Kafka's tiered storage copies a segment; there is nothing to copy.",
    },
    TopicConfig{
        .name = "remote.log.copy.disable",
        .type = boolean,
        .default_value = "false",
        .doc = "Whether Kafka's tiered storage stops copying; there is nothing to copy.",
    },
    TopicConfig{
        .name = "remote.log.delete.on.disable",
        .type = boolean,
        .default_value = "false",
        .doc = "What becomes of Kafka's tiered storage when it is switched off; there is none.",
    },
    TopicConfig{
        .name = "remote.storage.enable",
        .type = boolean,
        .default_value = "false",
        .refused = "true",
        .reason = "every topic is on object storage already; there are no tiers to switch on",
        .doc = "Kafka's tiered storage. `true` is refused: every topic is on object storage "
               "already.",
    },
    TopicConfig{
        .name = "retention.bytes",
        .type = int64,
        .default_value = "-1",
        .broker_name = "log.retention.bytes",
        .effect = in_effect,
        .doc = "How much of each partition is kept, in bytes as it is stored; below 0: all.",
    },
    TopicConfig{
        .name = "retention.ms",
        .type = int64,
        .default_value = "604800000",
        .min = -1,
        .broker_name = "log.retention.ms",
        .effect = in_effect,
        .doc = "How long records are kept; -1: for ever.",
    },
    TopicConfig{
        .name = "segment.bytes",
        .type = int32,
        .default_value = "1073741824",
        .min = 1,
        .broker_name = "log.segment.bytes",
        .doc = "Size of a segment file; topics have none. Also less than Kafka's 1 MiB is taken.",
    },
    TopicConfig{
        .name = "segment.index.bytes",
        .type = int32,
        .default_value = "10485760",
        .min = 4,
        .broker_name = "log.index.size.max.bytes",
        .doc = "Size of the index of a segment file; topics have none.",
    },
    TopicConfig{
        .name = "segment.jitter.ms",
        .type = int64,
        .default_value = "0",
        .min = 0,
        .broker_name = "log.roll.jitter.ms",
        .doc = "When a segment file is closed; topics have none.",
    },
    TopicConfig{
        .name = "segment.ms",
        .type = int64,
        .default_value = "604800000",
        .min = 1,
        .broker_name = "log.roll.ms",
        .doc = "When a segment file is closed; topics have none.",
    },
    TopicConfig{
        .name = "unclean.leader.election.enable",
        .type = boolean,
        .default_value = "false",
        .broker_name = "unclean.leader.election.enable",
        .doc = "Whether a replica that lags behind may lead. Any broker serves all records.",
    },
};

static_assert(std::ranges::is_sorted(configs, {}, &TopicConfig::name));

}  // namespace

std::span<const TopicConfig> topic_configs() {
    return configs;
}

const TopicConfig* find_topic_config(std::string_view name) {
    const auto* const found = std::ranges::lower_bound(configs, name, {}, &TopicConfig::name);
    return found != configs.end() && found->name == name ? found : nullptr;
}

}  // namespace lakestream::kafka
